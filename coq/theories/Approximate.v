(** (epsilon, delta)-privacy of finite mechanisms: what it means, the integer checker that accepts it, what follows.

    [approx near e d m]: for neighbouring a, b and every set S of outputs Pr[m a in S] <= exp e * Pr[m b in S] + d.
    It is the same as sum max(0, mass a - exp e * mass b) <= d, which the checker sums in whole numbers.

    approx_excess         sets and positive parts say the same
    approx_expectation    hence for every function with values in 0..1
    approx_post, approx_followed_by   post-processing, with randomness of its own too
    approx_composition    epsilons and deltas add up, the second mechanism chosen by the output of the first
    approx_group          k changes: k epsilon, and delta times 1 + exp e + ... + exp ((k-1) e)
    check_approx_sound    what the checker accepts is (epsilon, delta)-private between all pairs it was given
    floored_sound         the same for the checker in 62-bit words, each product rounded down
    both_ledger_promise   questions chosen as one goes, epsilons and deltas charged apart: the transcript keeps both
    delta_passport        the promise of a passport with a delta, for all neighbouring answers and all sets of reports *)
From Coq Require Import ZArith Reals List Bool Lra Lia Psatz Arith.
From Inbounds Require Import Exp Privacy Matrix Neighbours Passport Ledger.
Import ListNotations.
Open Scope R_scope.

(** * The definition, twice *)
Definition approx {A O} (near : A -> A -> Prop) (e d : R) (m : mechanism A O) : Prop :=
  forall a b, near a b -> forall S, Pr m a S <= exp e * Pr m b S + d.

Definition excess {A O} (m : mechanism A O) (e : R) (a b : A) : R :=
  rsum (outs m) (fun o => Rmax 0 (mass m a o - exp e * mass m b o)).

Lemma rsum_plus {O} (l : list O) f g : rsum l (fun o => f o + g o) = rsum l f + rsum l g.
Proof. induction l; cbn; [ring|]. rewrite IHl. ring. Qed.

Lemma rsum_minus {O} (l : list O) f g : rsum l (fun o => f o - g o) = rsum l f - rsum l g.
Proof. induction l; cbn; [ring|]. rewrite IHl. ring. Qed.

Lemma rsum_zero {O} (l : list O) : rsum l (fun _ => 0) = 0.
Proof. induction l; cbn; [reflexivity|]. rewrite IHl. ring. Qed.

Lemma rsum_swap {O O'} (l : list O) (l' : list O') (f : O -> O' -> R) :
  rsum l (fun o => rsum l' (f o)) = rsum l' (fun o' => rsum l (fun o => f o o')).
Proof. induction l; cbn; [now rewrite rsum_zero|]. now rewrite IHl, rsum_plus. Qed.

Lemma rsum_flat_map {O O'} (g : O -> list O') l f : rsum (flat_map g l) f = rsum l (fun o => rsum (g o) f).
Proof. induction l; cbn; [reflexivity|]. now rewrite rsum_app, IHl. Qed.

(** For every function with values in 0..1, from the sum of positive parts. *)
Lemma excess_expectation {A O} (m : mechanism A O) e a b (q : O -> R) : (forall o, 0 <= q o <= 1) ->
  rsum (outs m) (fun o => mass m a o * q o) <=
  exp e * rsum (outs m) (fun o => mass m b o * q o) + excess m e a b.
Proof.
  intro Hq. unfold excess. rewrite <- rsum_scale, <- rsum_plus. apply rsum_le. intros o _.
  specialize (Hq o). set (x := mass m a o). set (y := exp e * mass m b o).
  replace (exp e * (mass m b o * q o)) with (y * q o) by (unfold y; ring).
  pose proof (Rmax_l 0 (x - y)). pose proof (Rmax_r 0 (x - y)). nra.
Qed.

Lemma pr_as_sum {A O} (m : mechanism A O) a S :
  Pr m a S = rsum (outs m) (fun o => mass m a o * (if S o then 1 else 0)).
Proof. unfold Pr. apply rsum_ext. intros o _. destruct (S o); ring. Qed.

Theorem approx_excess {A O} near e d (m : mechanism A O) :
  approx near e d m <-> forall a b, near a b -> excess m e a b <= d.
Proof.
  split; intros H a b Hab.
  - set (S := fun o => if Rlt_dec 0 (mass m a o - exp e * mass m b o) then true else false).
    specialize (H a b Hab S). unfold Pr in H. rewrite <- rsum_scale in H.
    assert (E : excess m e a b = rsum (outs m) (fun o => if S o then mass m a o else 0)
                                 - rsum (outs m) (fun o => exp e * (if S o then mass m b o else 0))).
    { unfold excess. rewrite <- rsum_minus. apply rsum_ext. intros o _. unfold S.
      destruct (Rlt_dec 0 (mass m a o - exp e * mass m b o)); [rewrite Rmax_right; lra|rewrite Rmax_left; lra]. }
    lra.
  - intro S. rewrite !pr_as_sum. eapply Rle_trans.
    + apply (excess_expectation m e a b). intro o. destruct (S o); lra.
    + apply Rplus_le_compat_l. now apply H.
Qed.

Theorem approx_expectation {A O} near e d (m : mechanism A O) : approx near e d m ->
  forall a b, near a b -> forall q : O -> R, (forall o, 0 <= q o <= 1) ->
  rsum (outs m) (fun o => mass m a o * q o) <= exp e * rsum (outs m) (fun o => mass m b o * q o) + d.
Proof.
  intros H a b Hab q Hq. eapply Rle_trans; [now apply (excess_expectation m e a b)|].
  apply Rplus_le_compat_l. now apply (proj1 (approx_excess near e d m) H).
Qed.

Lemma delta_nonneg {A O} near e d (m : mechanism A O) a b : approx near e d m -> near a b -> 0 <= d.
Proof.
  intros H Hab. specialize (H a b Hab (fun _ => false)). unfold Pr in H. cbv beta iota in H.
  rewrite !rsum_zero in H. lra.
Qed.

(** Pure privacy is the case of delta 0. *)
Theorem private_approx {A O} near e (m : mechanism A O) : private near e m <-> approx near e 0 m.
Proof. split; intros H a b Hab S; specialize (H a b Hab S); lra. Qed.

Theorem approx_weaker {A O} near e e' d d' (m : mechanism A O) :
  (forall a o, 0 <= mass m a o) -> e <= e' -> d <= d' -> approx near e d m -> approx near e' d' m.
Proof.
  intros Pm He Hd H a b Hab S. eapply Rle_trans; [now apply (H a b Hab S)|]. apply Rplus_le_compat; [|assumption].
  apply Rmult_le_compat_r; [|now apply exp_le]. apply rsum_nonneg. intros o _. destruct (S o); [apply Pm|lra].
Qed.

(** * Post-processing *)
Theorem approx_post {A O O'} near e d (m : mechanism A O) (f : O -> O') : approx near e d m ->
  forall a b, near a b -> forall S : O' -> bool, Pr m a (fun o => S (f o)) <= exp e * Pr m b (fun o => S (f o)) + d.
Proof. intros H a b Hab S. exact (H a b Hab (fun o => S (f o))). Qed.

Theorem approx_followed_by {A O O'} near e d (m : mechanism A O) (outs' : list O') (K : O -> O' -> R) :
  (forall o o', 0 <= K o o') -> (forall o, rsum outs' (K o) <= 1) ->
  approx near e d m -> approx near e d (followed_by m outs' K).
Proof.
  intros HK HK1 H a b Hab S.
  assert (E : forall c, Pr (followed_by m outs' K) c S
                = rsum (outs m) (fun o => mass m c o * rsum outs' (fun o' => if S o' then K o o' else 0))).
  { intro c. unfold Pr. cbn [outs mass followed_by].
    transitivity (rsum outs' (fun o' => rsum (outs m) (fun o => mass m c o * (if S o' then K o o' else 0)))).
    - apply rsum_ext. intros o' _. destruct (S o'); [reflexivity|].
      rewrite (rsum_ext (outs m) _ (fun _ => 0)) by (intros; ring). now rewrite rsum_zero.
    - rewrite <- rsum_swap. apply rsum_ext. intros o _. now rewrite <- rsum_scale. }
  rewrite !E. apply (approx_expectation near e d m H a b Hab). intro o. split.
  - apply rsum_nonneg. intros o' _. destruct (S o'); [apply HK|lra].
  - eapply Rle_trans; [|apply (HK1 o)]. apply rsum_le. intros o' _. specialize (HK o o'). destruct (S o'); lra.
Qed.

(** * Composition *)
Lemma pr_compose {A O O'} (m : mechanism A O) (m' : O -> mechanism A O') a S :
  Pr (compose m m') a S = rsum (outs m) (fun o => mass m a o * Pr (m' o) a (fun o' => S (o, o'))).
Proof.
  unfold Pr. cbn [outs mass compose]. rewrite rsum_flat_map. apply rsum_ext. intros o _.
  rewrite rsum_map, <- rsum_scale. apply rsum_ext. intros o' _. cbn [fst snd]. destruct (S (o, o')); ring.
Qed.

Lemma pr_bounds {A O} (m : mechanism A O) a S : distribution m a -> 0 <= Pr m a S <= 1.
Proof.
  intros [P1 S1]. split.
  - apply rsum_nonneg. intros o _. destruct (S o); [apply P1|lra].
  - rewrite <- S1. apply rsum_le. intros o _. specialize (P1 o). destruct (S o); lra.
Qed.

Lemma mass_one {A O} (m : mechanism A O) a : distribution m a -> rsum (outs m) (mass m a) = 1.
Proof. intros [_ S1]. rewrite <- S1. now apply rsum_ext. Qed.

(** One step of an adaptive composition: a first output o of mass [x o] or [y o], then something that is at most
    exp e2 times as likely, plus d2, where everything is at most 1. *)
Lemma one_step {A O} near e1 d1 (m : mechanism A O) a b e2 d2 (f g : O -> R) :
  approx near e1 d1 m -> near a b -> distribution m a -> distribution m b -> 0 <= d2 ->
  (forall o, 0 <= f o <= 1) -> (forall o, 0 <= g o) -> (forall o, In o (outs m) -> f o <= exp e2 * g o + d2) ->
  rsum (outs m) (fun o => mass m a o * f o) <=
  exp (e1 + e2) * rsum (outs m) (fun o => mass m b o * g o) + (d1 + d2).
Proof.
  intros H Hab Da Db Hd2 Hf Hg Hfg. pose proof (exp_pos e1) as E1. pose proof (exp_pos e2) as E2.
  set (h := fun o => Rmin 1 (exp e2 * g o)).
  assert (Hh : forall o, 0 <= h o <= 1).
  { intro o. unfold h. split; [apply Rmin_glb; [lra|specialize (Hg o); nra]|apply Rmin_l]. }
  apply Rle_trans with (rsum (outs m) (fun o => mass m a o * h o + d2 * mass m a o)).
  { apply rsum_le. intros o Ho. destruct Da as [Pa _]. specialize (Pa o). specialize (Hf o). specialize (Hfg o Ho).
    assert (f o <= h o + d2) by (unfold h; destruct (Rle_dec 1 (exp e2 * g o));
      [rewrite Rmin_left; lra|rewrite Rmin_right; lra]). nra. }
  rewrite rsum_plus, rsum_scale, (mass_one m a Da).
  pose proof (approx_expectation near e1 d1 m H a b Hab h Hh) as X.
  assert (Y : rsum (outs m) (fun o => mass m b o * h o) <= exp e2 * rsum (outs m) (fun o => mass m b o * g o)).
  { rewrite <- rsum_scale. apply rsum_le. intros o _. destruct Db as [Pb _]. specialize (Pb o).
    pose proof (Rmin_r 1 (exp e2 * g o)). unfold h. nra. }
  rewrite exp_plus. nra.
Qed.

Theorem approx_composition {A O O'} near e1 d1 e2 d2 (m : mechanism A O) (m' : O -> mechanism A O') :
  (forall a, distribution m a) -> (forall o a, distribution (m' o) a) -> 0 <= d2 ->
  approx near e1 d1 m -> (forall o, approx near e2 d2 (m' o)) ->
  approx near (e1 + e2) (d1 + d2) (compose m m').
Proof.
  intros D1 D2 Hd2 H1 H2 a b Hab S. rewrite !pr_compose.
  apply (one_step near e1 d1 m a b); auto; intro o.
  - now apply pr_bounds.
  - now apply pr_bounds.
  - intros _. now apply (H2 o).
Qed.

(** * Groups *)
Fixpoint steps (k : nat) (e : R) : R := match k with O => 0 | S k' => 1 + exp e * steps k' e end.

Theorem approx_group {A O} near e d (m : mechanism A O) : approx near e d m ->
  forall k, approx (chain near k) (INR k * e) (d * steps k e) m.
Proof.
  intros H. induction k as [|k IH]; intros a c Hc S; inversion Hc; subst.
  - cbn. rewrite Rmult_0_l, exp_0. lra.
  - rewrite S_INR. replace ((INR k + 1) * e) with (e + INR k * e) by ring. rewrite exp_plus. cbn [steps].
    specialize (H a b H1 S). specialize (IH b c H2 S). pose proof (exp_pos e). nra.
Qed.

(** * The checker *)
Open Scope Z_scope.

(** 2^128 times the sum of max(0, W[i, j] - p / 2^128 * W[i, k]). *)
Definition shortfall (p : Z) (W : list (list Z)) (j k : nat) : Z :=
  Zsum (map (fun row => Z.max 0 (Z.shiftl (nth j row 0) EXP_BITS - p * nth k row 0)) W).

(** The same in words: every product is rounded down, so every term is rounded up to a whole weight. *)
Definition floored (p : Z) (W : list (list Z)) (j k : nat) : Z :=
  Zsum (map (fun row => Z.max 0 (nth j row 0 - Z.shiftr (p * nth k row 0) EXP_BITS)) W).

Definition check_approx (total : Z) (n : nat) (W : list (list Z)) (pairs : list (nat * nat)) (en ed dn dd : Z) : bool :=
  check_product total n W [] en ed && (0 <=? dn) && (0 <? dd)
  && (let p := ratio_below en ed 1 1 in
      forallb (fun jk => (fst jk <? n)%nat && (snd jk <? n)%nat
                         && (dd * shortfall p W (fst jk) (snd jk) <=? dn * total * 2 ^ EXP_BITS)) pairs).

Definition check_floored (total : Z) (n : nat) (W : list (list Z)) (pairs : list (nat * nat)) (en ed dn dd : Z) : bool :=
  check_product total n W [] en ed && (0 <=? dn) && (0 <? dd)
  && (let p := ratio_below en ed 1 1 in
      forallb (fun jk => (fst jk <? n)%nat && (snd jk <? n)%nat
                         && (dd * floored p W (fst jk) (snd jk) <=? dn * total)) pairs).

Definition reach_pairs (n r : nat) : list (nat * nat) :=
  filter (fun jk => negb (fst jk =? snd jk)%nat && (fst jk <=? snd jk + r)%nat && (snd jk <=? fst jk + r)%nat)
         (list_prod (seq 0 n) (seq 0 n)).

Lemma reach_pairs_cover n r j k : (j < n)%nat -> (k < n)%nat -> j <> k -> (j <= k + r)%nat -> (k <= j + r)%nat ->
  In (j, k) (reach_pairs n r).
Proof.
  intros. apply filter_In. split; [apply in_prod; apply in_seq; lia|]. cbn [fst snd].
  rewrite !andb_true_iff, negb_true_iff, Nat.eqb_neq, !Nat.leb_le. lia.
Qed.

Lemma shortfall_floored p W j k : shortfall p W j k <= floored p W j k * 2 ^ EXP_BITS.
Proof.
  unfold shortfall, floored. induction W as [|row W IH]; cbn [map Zsum fold_right]; [lia|].
  fold (Zsum (map (fun row => Z.max 0 (Z.shiftl (nth j row 0) EXP_BITS - p * nth k row 0)) W)) in *.
  fold (Zsum (map (fun row => Z.max 0 (nth j row 0 - Z.shiftr (p * nth k row 0) EXP_BITS)) W)) in *.
  rewrite Z.shiftl_mul_pow2, Z.shiftr_div_pow2 by easy.
  assert (Q : 0 < 2 ^ EXP_BITS) by reflexivity. pose proof (Z.mul_div_le (p * nth k row 0) _ Q).
  generalize dependent (2 ^ EXP_BITS). intros q IH Q H.
  set (x := nth j row 0) in *. set (y := p * nth k row 0) in *. set (z := y / q) in *.
  enough (Z.max 0 (x * q - y) <= Z.max 0 (x - z) * q) by lia. nia.
Qed.

Theorem floored_accepted total n W pairs en ed dn dd :
  check_floored total n W pairs en ed dn dd = true -> check_approx total n W pairs en ed dn dd = true.
Proof.
  unfold check_floored, check_approx. rewrite !andb_true_iff. intros [[[A B] C] D]. repeat split; try assumption.
  rewrite forallb_forall in *. intros jk Hin. specialize (D jk Hin). rewrite !andb_true_iff in *.
  destruct D as [D1 D2]. split; [assumption|]. apply Z.leb_le in D2. apply Z.leb_le. apply Z.ltb_lt in C.
  pose proof (shortfall_floored (ratio_below en ed 1 1) W (fst jk) (snd jk)).
  assert (0 < 2 ^ EXP_BITS) by reflexivity. nia.
Qed.

Open Scope R_scope.

Definition between (pairs : list (nat * nat)) (j k : nat) : Prop := In (j, k) pairs.

Section Accepted.
  Variables (total : Z) (n : nat) (W : list (list Z)) (pairs : list (nat * nat)) (en ed dn dd : Z).
  Hypothesis accepted : check_approx total n W pairs en ed dn dd = true.

  Lemma accepted_product : check_product total n W [] en ed = true.
  Proof. unfold check_approx in accepted. rewrite !andb_true_iff in accepted. tauto. Qed.

  Theorem approx_distribution j : (j < n)%nat -> distribution (law total W) j.
  Proof. exact (law_distribution _ _ _ _ _ _ accepted_product j). Qed.

  Lemma term_below p x y e : (0 <= y)%Z -> IZR p / 2 ^ 128 <= exp e ->
    Rmax 0 (IZR x - exp e * IZR y) <= IZR (Z.max 0 (Z.shiftl x EXP_BITS - p * y)) / 2 ^ 128.
  Proof.
    intros Hy Hp. rewrite Z.shiftl_mul_pow2 by easy. rewrite two128 in *.
    assert (HQ : 0 < IZR (2 ^ EXP_BITS)) by (apply IZR_pos; reflexivity).
    apply IZR_le in Hy. set (q := (2 ^ EXP_BITS)%Z) in *. apply Rmax_lub.
    - apply Rmult_le_pos; [apply IZR_le; lia|]. left. now apply Rinv_0_lt_compat.
    - apply Rle_trans with (IZR (x * q - p * y) / IZR q).
      + rewrite minus_IZR, !mult_IZR. apply Rle_trans with (IZR x - IZR p / IZR q * IZR y).
        * apply Rplus_le_compat_l, Ropp_le_contravar. now apply Rmult_le_compat_r.
        * right. field. lra.
      + apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|]. apply IZR_le. lia.
  Qed.

  Lemma rsum_rows (f : list Z -> R) : rsum (seq 0 (length W)) (fun i => f (nth i W [])) = rsum W f.
  Proof.
    clear accepted. induction W as [|row W' IH]; [reflexivity|]. cbn [length seq rsum nth]. f_equal.
    rewrite <- IH, <- seq_shift, rsum_map. reflexivity.
  Qed.

  (** What the checker accepts is (epsilon, delta)-private. *)
  Theorem check_approx_sound : approx (between pairs) (eps en ed) (IZR dn / IZR dd) (law total W).
  Proof.
    apply approx_excess. intros j k Hjk. pose proof accepted as A. unfold check_approx in A.
    rewrite !andb_true_iff, forallb_forall in A. destruct A as [[[Hc Hdn] Hdd] Hp]. specialize (Hp _ Hjk).
    rewrite !andb_true_iff in Hp. destruct Hp as [_ Hp]. cbn [fst snd] in Hp. apply Z.leb_le in Hp.
    apply Z.ltb_lt in Hdd. destruct (check_product_sound _ _ _ _ _ _ Hc) as (Tp & En & Ed & Pos & _).
    destruct (ratio_below_sound en ed 1 1 En Ed ltac:(lia) ltac:(lia)) as [_ Hexp].
    replace (IZR en / IZR ed * (1 / 1)) with (eps en ed) in Hexp by (unfold eps, Rdiv; rewrite Rinv_1; ring).
    apply IZR_pos in Tp as HT. apply IZR_pos in Hdd as HD.
    set (p := ratio_below en ed 1 1) in *. set (e := eps en ed) in *.
    set (f := fun row => IZR (Z.max 0 (Z.shiftl (nth j row 0%Z) EXP_BITS - p * nth k row 0%Z)) / 2 ^ 128 / IZR total).
    apply Rle_trans with (rsum W f).
    - rewrite <- (rsum_rows f). unfold excess. cbn [outs mass law]. apply rsum_le. intros i _. unfold f.
      replace (IZR (weight W i j) / IZR total - exp e * (IZR (weight W i k) / IZR total))
        with ((IZR (weight W i j) - exp e * IZR (weight W i k)) * / IZR total) by (unfold Rdiv; ring).
      apply Rmax_lub.
      + apply Rmult_le_pos; [|left; now apply Rinv_0_lt_compat].
        eapply Rle_trans; [|apply (term_below p _ _ e (Pos i k) Hexp)]. apply Rmax_l.
      + apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|].
        eapply Rle_trans; [|apply (term_below p _ _ e (Pos i k) Hexp)]. apply Rmax_r.
    - assert (E : rsum W f = IZR (shortfall p W j k) / 2 ^ 128 / IZR total).
      { unfold f, shortfall. generalize (IZR total) (2 ^ 128). intros t q. clear.
        induction W as [|row W' IH]; cbn [rsum map Zsum fold_right]; [unfold Rdiv; ring|].
        rewrite IH. fold (Zsum (map (fun row => Z.max 0 (Z.shiftl (nth j row 0%Z) EXP_BITS - p * nth k row 0%Z)) W')).
        rewrite plus_IZR. unfold Rdiv. ring. }
      rewrite E, two128. apply IZR_le in Hp. rewrite !mult_IZR in Hp.
      assert (HQ : 0 < IZR (2 ^ EXP_BITS)) by (apply IZR_pos; reflexivity).
      set (q := IZR (2 ^ EXP_BITS)) in *. set (s := IZR (shortfall p W j k)) in *. clearbody q s.
      apply Rmult_le_reg_r with (IZR dd * q * IZR total); [repeat apply Rmult_lt_0_compat; assumption|].
      replace (s / q / IZR total * (IZR dd * q * IZR total)) with (IZR dd * s) by (field; lra).
      replace (IZR dn / IZR dd * (IZR dd * q * IZR total)) with (IZR dn * IZR total * q) by (field; lra).
      exact Hp.
  Qed.

  (** Through a query: neighbouring databases whose answers are among the pairs. *)
  Theorem approx_promise {D} (near : D -> D -> Prop) (answer : D -> nat) :
    (forall db db', near db db' -> In (answer db, answer db') pairs) ->
    approx near (eps en ed) (IZR dn / IZR dd) (ask answer (law total W)).
  Proof. intros H db db' Hd S. exact (check_approx_sound _ _ (H db db' Hd) S). Qed.
End Accepted.

Theorem floored_sound total n W pairs en ed dn dd : check_floored total n W pairs en ed dn dd = true ->
  approx (between pairs) (eps en ed) (IZR dn / IZR dd) (law total W).
Proof. intro H. apply (check_approx_sound _ n). now apply floored_accepted. Qed.

(** * A ledger of epsilons and deltas *)
Section Both.
  Context {D O : Type}.

  (** A delta is charged in whole units of 10^-18. *)
  Definition tiny (units : Z) : R := IZR units / IZR (10 ^ 18).

  Inductive asker :=
  | Leaves
  | Asks (question : mechanism D O) (units deltas : Z) (next : option O -> asker).

  Fixpoint worth (near : D -> D -> Prop) (who : asker) : Prop :=
    match who with
    | Leaves => True
    | Asks m units deltas next =>
        (0 <= units)%Z /\ (0 <= deltas)%Z /\ (forall db, distribution m db)
        /\ approx near (nano units) (tiny deltas) m /\ forall seen, worth near (next seen)
    end.

  Fixpoint papers (left left' : Z) (who : asker) : list (list O) :=
    match who with
    | Leaves => [[]]
    | Asks m units deltas next =>
        if ((units <=? left) && (deltas <=? left'))%Z
        then flat_map (fun o => map (cons o) (papers (left - units) (left' - deltas) (next (Some o)))) (outs m)
        else papers left left' (next None)
    end.

  Fixpoint paper_mass (left left' : Z) (who : asker) (db : D) (seen : list O) : R :=
    match who with
    | Leaves => match seen with [] => 1 | _ => 0 end
    | Asks m units deltas next =>
        if ((units <=? left) && (deltas <=? left'))%Z
        then match seen with
             | [] => 0
             | o :: rest => mass m db o * paper_mass (left - units) (left' - deltas) (next (Some o)) db rest
             end
        else paper_mass left left' (next None) db seen
    end.

  Definition dialogue (left left' : Z) (who : asker) : mechanism D (list O) :=
    Mechanism (papers left left' who) (paper_mass left left' who).

  Lemma dialogue_step m units deltas next left left' db S :
    ((units <=? left) && (deltas <=? left'))%Z = true ->
    Pr (dialogue left left' (Asks m units deltas next)) db S =
    rsum (outs m) (fun o => mass m db o *
      Pr (dialogue (left - units) (left' - deltas) (next (Some o))) db (fun rest => S (o :: rest))).
  Proof.
    intro H. unfold Pr. cbn [dialogue outs mass papers]. rewrite H, rsum_flat_map. apply rsum_ext. intros o _.
    rewrite rsum_map, <- rsum_scale. apply rsum_ext. intros rest _. cbn [paper_mass]. rewrite H.
    destruct (S (o :: rest)); ring.
  Qed.

  Lemma dialogue_distribution near who : worth near who -> forall left left' db,
    distribution (dialogue left left' who) db.
  Proof.
    induction who as [|m units deltas next IH]; intros H left left' db.
    - split; [intros [|]; cbn; lra|]. unfold Pr. cbn. ring.
    - cbn [worth] in H. destruct H as (_ & _ & Dm & _ & Hn).
      destruct ((units <=? left) && (deltas <=? left'))%Z eqn:E.
      + split.
        * intros seen. cbn [dialogue mass paper_mass]. rewrite E. destruct seen as [|o rest]; [lra|].
          apply Rmult_le_pos; [apply (Dm db)|]. exact (proj1 (IH (Some o) (Hn _) _ _ db) rest).
        * rewrite dialogue_step by assumption. rewrite <- (mass_one m db (Dm db)). apply rsum_ext. intros o _.
          destruct (IH (Some o) (Hn _) (left - units)%Z (left' - deltas)%Z db) as [_ ->]. ring.
      + destruct (IH None (Hn _) left left' db) as [P1 S1]. split.
        * intro seen. cbn [dialogue mass paper_mass]. rewrite E. apply P1.
        * unfold Pr in *. cbn [dialogue outs mass papers] in *. rewrite E. rewrite <- S1. apply rsum_ext. intros o _.
          cbn [paper_mass]. now rewrite E.
  Qed.

  Lemma tiny_nonneg a : (0 <= a)%Z -> 0 <= tiny a.
  Proof. intro H. apply Rmult_le_pos; [now apply IZR_le|]. left. apply Rinv_0_lt_compat, IZR_pos. reflexivity. Qed.

  Lemma tiny_minus a b : tiny (a - b) = tiny a - tiny b.
  Proof. unfold tiny. rewrite minus_IZR. unfold Rdiv. ring. Qed.

  (** Whatever is asked, and whatever each question's epsilon and delta: all answers together keep both budgets. *)
  Theorem both_ledger_promise near who : worth near who -> forall left left', (0 <= left)%Z -> (0 <= left')%Z ->
    approx near (nano left) (tiny left') (dialogue left left' who).
  Proof.
    induction who as [|m units deltas next IH]; intros H left left' Hl Hl' a b Hab S.
    - pose proof (exp_le 0 _ (nano_pos left Hl)) as E. rewrite exp_0 in E. pose proof (tiny_nonneg left' Hl').
      unfold Pr. cbn [dialogue outs mass papers paper_mass rsum]. destruct (S []); lra.
    - pose proof H as Hw. cbn [worth] in H. destruct H as (Hu & Hd & Dm & Am & Hn).
      destruct ((units <=? left) && (deltas <=? left'))%Z eqn:E.
      + rewrite !dialogue_step by assumption. apply andb_true_iff in E as [E1 E2].
        apply Z.leb_le in E1. apply Z.leb_le in E2.
        replace (nano left) with (nano units + nano (left - units)) by (rewrite nano_minus; ring).
        replace (tiny left') with (tiny deltas + tiny (left' - deltas)) by (rewrite tiny_minus; ring).
        apply (one_step near); auto.
        * apply tiny_nonneg. lia.
        * intro o. apply pr_bounds. eapply dialogue_distribution, Hn.
        * intro o. apply pr_bounds. eapply dialogue_distribution, Hn.
        * intros o _. apply (IH (Some o) (Hn _) (left - units)%Z (left' - deltas)%Z ltac:(lia) ltac:(lia) a b Hab).
      + assert (X : forall c, Pr (dialogue left left' (Asks m units deltas next)) c S
                      = Pr (dialogue left left' (next None)) c S).
        { intro c. unfold Pr. cbn [dialogue outs mass papers]. rewrite E. apply rsum_ext. intros o _.
          cbn [paper_mass]. now rewrite E. }
        rewrite !X. now apply (IH None (Hn _)).
  Qed.
End Both.


(** * Passports of matrices with a delta *)
Open Scope Z_scope.

Definition MOST_COMPARED := 2 ^ 24.

(** Answers at distance 1: a delta has no other. Each pair is compared by itself, because deltas do not telescope. *)
Definition near_pair (p : passport) (t : list Z) (jk : nat * nat) : bool :=
  negb (fst jk =? snd jk)%nat
  && match near p with
     | ByReach r => Z.abs (tick t (fst jk) - tick t (snd jk)) <=? r
     | AllOfThem => true
     | _ => false
     end.

Definition near_pairs (p : passport) : list (nat * nat) :=
  let t := all_ticks (ticks (answers p)) in
  filter (near_pair p t) (list_prod (seq 0 (length t)) (seq 0 (length t))).

(** What `inbounds-check` runs on such a passport. *)
Definition check_delta (p : passport) (delta : frac) : bool :=
  query_ok p && at_distance_one p && (0 <? num delta) && (num delta <? den delta)
  && match numbers p with
     | Weights W =>
         let pairs := near_pairs p in
         (length_Z 0 W =? outputs p)
         && (length_Z 0 pairs * length_Z 0 W <=? MOST_COMPARED)
         && check_approx TOTAL (length (all_ticks (ticks (answers p)))) W pairs
              (num (epsilon p)) (den (epsilon p)) (num delta) (den delta)
     | _ => false
     end.

(** Noise of the table -K..K added to an answer 0..n-1 and clamped to that range, written out: Pr[output | answer]. *)
Definition noise_cell (table : list Z) (n i j : nat) : Z :=
  let place d := Z.max 0 (Z.min (Z.of_nat n - 1) (Z.of_nat j + Z.of_nat d - Z.of_nat (length table) / 2)) in
  Zsum (map (fun dw => if place (fst dw) =? Z.of_nat i then snd dw else 0) (combine (seq 0 (length table)) table)).

Definition noise_rows (table : list Z) (n : nat) : list (list Z) :=
  map (fun i => map (noise_cell table n i) (seq 0 n)) (seq 0 n).

(** The passport of noise with a delta is that of its rows, if its answers are numbers without gaps, each an output. *)
Definition check_delta_noise (p : passport) (table : list Z) (delta : frac) : bool :=
  let n := size_of (ticks (answers p)) in
  match near p, labels p with
  | ByReach _, None =>
      regular (ticks (answers p)) && one_output_per_answer p && (n * n <=? MOST_COMPARED)
      && Z.odd (length_Z 0 table) && (length_Z 0 table <=? 2 * n - 1) && forallb (Z.leb 0) table
      && check_delta (Passport (asked p) (answers p) (cells p) (near p) (rounds p) (labels p) (allowance p) (epsilon p)
           (Weights (noise_rows table (Z.to_nat n)))) delta
  | _, _ => false
  end.

Open Scope R_scope.

Theorem delta_passport p delta : check_delta p delta = true ->
  forall j k d, (j < positions p)%nat -> (k < positions p)%nat -> price (tick_at p) (near_ticks p) j k = Some d ->
  forall S, Pr (law_of p) j S <= exp (real (epsilon p)) * Pr (law_of p) k S + real delta.
Proof.
  intros H j k d Hj Hk Hd S. unfold check_delta in H. rewrite !andb_true_iff in H.
  destruct H as [[[[Q N] D0] D1] L]. destruct (numbers p) as [W| | |] eqn:EN; try discriminate.
  cbv zeta in L. rewrite !andb_true_iff in L. destruct L as [_ A].
  assert (E : law_of p = law TOTAL W) by (unfold law_of; now rewrite EN). rewrite E.
  assert (Two : (2 <= size_of (ticks (answers p)))%Z).
  { unfold query_ok in Q. cbv zeta in Q. rewrite !andb_true_iff in Q.
    repeat match goal with X : _ /\ _ |- _ => destruct X end. now apply Z.leb_le. }
  assert (T : length (all_ticks (ticks (answers p))) = positions p) by (apply all_ticks_length; lia).
  destruct (Nat.eq_dec j k) as [->|Hne].
  - pose proof (approx_distribution _ _ _ _ _ _ _ _ A k ltac:(lia)) as Dk.
    pose proof (pr_bounds _ _ S Dk) as B.
    pose proof (accepted_product _ _ _ _ _ _ _ _ A) as C. destruct (check_product_sound _ _ _ _ _ _ C) as (_ & En & Ed & _).
    assert (0 <= real (epsilon p)).
    { apply Rmult_le_pos; [now apply IZR_le|]. left. apply Rinv_0_lt_compat. now apply IZR_pos. }
    apply exp_le in H. rewrite exp_0 in H. apply Z.ltb_lt in D0. apply Z.ltb_lt in D1.
    assert (0 <= real delta).
    { apply Rmult_le_pos; [apply IZR_le; lia|]. left. apply Rinv_0_lt_compat. apply IZR_pos. lia. }
    nra.
  - apply (check_approx_sound _ _ _ _ _ _ _ _ A j k). unfold between, near_pairs. apply filter_In. split.
    + apply in_prod; apply in_seq; lia.
    + unfold near_pair. cbn [fst snd]. rewrite andb_true_iff, negb_true_iff, Nat.eqb_neq. split; [assumption|].
      rewrite !tick_at_all by assumption. unfold near_ticks in Hd. unfold at_distance_one in N.
      destruct (near p) as [r| | |]; try discriminate; [|reflexivity]. cbn [price] in Hd.
      destruct (Z.abs (tick_at p j - tick_at p k) <=? r)%Z; [reflexivity|discriminate].
Qed.

(** Its laws are distributions. *)
Theorem delta_distribution p delta : check_delta p delta = true ->
  forall j, (j < positions p)%nat -> distribution (law_of p) j.
Proof.
  intros H j Hj. unfold check_delta in H. rewrite !andb_true_iff in H.
  destruct H as [[[[Q _] _] _] L]. destruct (numbers p) as [W| | |] eqn:EN; try discriminate.
  cbv zeta in L. rewrite !andb_true_iff in L. destruct L as [_ A].
  assert (E : law_of p = law TOTAL W) by (unfold law_of; now rewrite EN). rewrite E.
  apply (approx_distribution _ _ _ _ _ _ _ _ A). rewrite all_ticks_length; [exact Hj|].
  apply Z.le_trans with 2%Z; [lia|]. unfold query_ok in Q. cbv zeta in Q. rewrite !andb_true_iff in Q.
  repeat match goal with X : _ /\ _ |- _ => destruct X end. now apply Z.leb_le.
Qed.
