(** Score tables that count how deep the answer lies.

    The depth of a group is its least length that is not 0, less 1: how many records may change before the answer does.
    An output of length 0 has the level 0; of another length the level 1 + stride * (length - 1) + below depth, where
    [below d] is the sum of the first d numbers [more 0, more 1, ...], each at most the stride. Chances are T(level).

    stays_bound    where the answer stays: own * I(x/others) / I(x), for steps of the own chance and of the others
    levels_private where the answer stays or moves, the depth with it or not, the ratio is at most any bound above
                   the answer moves, or stays and the depth:  M (x, R)
                   the depth rises by one, or falls:          Q * I(x'/S) / I(x'),  S * I(x°/Q) / I(x°) *)
From Coq Require Import Reals List Bool Lra Lia Arith Permutation.
From Inbounds Require Import Exp Privacy Integral Scores Tight.
Import ListNotations.
Open Scope R_scope.

(** * From pairs of chances to reports *)
Lemma flip_pairs {A} (d : A) (f g : A -> R) (pairs : list A) i bound : (i < length pairs)%nat ->
  (forall e rest, Permutation pairs (e :: rest) -> f e * J 1 0 (map f rest) <= bound * (g e * J 1 0 (map g rest))) ->
  flip (map f pairs) i <= bound * flip (map g pairs) i.
Proof.
  intros Hi H.
  assert (Oth : forall (h : A -> R) j (q : list A), others j (map h q) = map h (others j q)).
  { intros h j. induction j as [|j IH]; intros [|e q]; cbn; auto. now rewrite IH. }
  assert (Perm : forall (q : list A) j, (j < length q)%nat -> Permutation q (nth j q d :: others j q)).
  { induction q as [|e q IH]; intros [|j] Hj; cbn in *; try lia; [reflexivity|]. rewrite (IH j) at 1 by lia. apply perm_swap. }
  rewrite !flip_formula, !Oth.
  rewrite (nth_indep _ 0 (f d)), (nth_indep (map g pairs) 0 (g d)) by (now rewrite map_length).
  rewrite (map_nth f), (map_nth g). apply H. now apply Perm.
Qed.

Lemma chances_pos {A} (f : A -> R) l : (forall e, In e l -> in_unit (f e)) -> 0 < J 1 0 (map f l).
Proof. intro H. apply J_pos. intros z Hz. apply in_map_iff in Hz as (e & <- & He). now apply H. Qed.

(** * The answer stays: one output has the chance 1 under both *)
Section Stays.
  Context {A : Type}.
  Variables (f g : A -> R) (x own oth : R) (c : nat).
  Hypothesis x_unit : 0 < x < 1.
  Hypothesis own_least : 1 <= own.
  Hypothesis oth_least : 1 <= oth.

  Definition stays : R := own * I c (/ oth * x) / I c x.

  Definition kept (e : A) : Prop := in_unit (f e) /\ 0 <= g e <= x /\ f e <= own * g e /\ g e <= oth * f e.

  Lemma stays_own : own <= stays.
  Proof.
    pose proof (I_pos c x ltac:(lra)) as Ix. pose proof (inv_r oth oth_least) as Io.
    assert (Le : I c x <= I c (/ oth * x)).
    { apply (integral_le (factors (1 :: repeat x c)) (factors (1 :: repeat (/ oth * x) c)) 0 1); [lra| |apply J0_integral|apply J0_integral].
      intros u Hu. apply factors_le; [|assumption]. constructor; [lra|].
      clear - x_unit Io. induction c; cbn; constructor; auto. split; [split|]; nra. }
    unfold stays. apply Rmult_le_reg_r with (I c x); [assumption|].
    replace (own * I c (/ oth * x) / I c x * I c x) with (own * I c (/ oth * x)) by (field; lra).
    apply Rmult_le_compat_l; lra.
  Qed.

  (** [z] is the answer that stays. *)
  Lemma stays_pairs bound z l : f z = 1 -> g z = 1 -> length l = S c -> Forall kept l -> stays <= bound -> oth <= bound ->
    forall e rest, Permutation (z :: l) (e :: rest) ->
    f e * J 1 0 (map f rest) <= bound * (g e * J 1 0 (map g rest)).
  Proof.
    intros Fz Gz Hc Hl Hs Ho e rest P.
    assert (Unit : forall d, In d (z :: l) -> in_unit (f d) /\ in_unit (g d)).
    { rewrite Forall_forall in Hl. intros d [<-|Hd]; [rewrite Fz, Gz; unfold in_unit; lra|].
      destruct (Hl d Hd) as (U & V & _). unfold in_unit in *. lra. }
    assert (Urest : forall d, In d rest -> in_unit (f d) /\ in_unit (g d)).
    { intros d Hd. apply Unit. apply (Permutation_in d (Permutation_sym P)). now right. }
    assert (Gp : 0 < J 1 0 (map g rest)) by (apply chances_pos; intros; now apply Urest).
    assert (Step : forall d, In d (z :: l) -> g d <= oth * f d).
    { rewrite Forall_forall in Hl. intros d [<-|Hd]; [rewrite Fz, Gz; lra|]. now apply Hl. }
    assert (Ze : In z (e :: rest)) by (apply (Permutation_in z P); now left).
    destruct Ze as [->|Zr].
    - (* the answer itself *)
      rewrite Fz, Gz, !Rmult_1_l. apply Rle_trans with (oth * J 1 0 (map g rest)); [|apply Rmult_le_compat_r; lra].
      apply shrink; [assumption|]. clear - P Urest Step.
      assert (Step' : forall d, In d rest -> g d <= oth * f d).
      { intros d Hd. apply Step. apply (Permutation_in d (Permutation_sym P)). now right. }
      clear P Step. induction rest as [|d rest IH]; cbn; constructor.
      + destruct (Urest d (or_introl eq_refl)) as [U V]. exact (conj U (conj V (Step' d (or_introl eq_refl)))).
      + apply IH; intros; [apply Urest|apply Step']; now right.
    - (* another output *)
      apply in_split in Zr as (r1 & r2 & ->). set (o := r1 ++ r2).
      assert (P' : Permutation l (e :: o)).
      { apply Permutation_cons_inv with z. rewrite P. rewrite perm_swap. apply perm_skip. symmetry. apply Permutation_middle. }
      assert (Kept : Forall kept (e :: o)).
      { rewrite Forall_forall in *. intros d Hd. apply Hl. exact (Permutation_in d (Permutation_sym P') Hd). }
      inversion Kept as [|? ? Ke Ko]; subst.
      assert (Lo : length o = c) by (pose proof (Permutation_length P') as Q; cbn in Q; lia).
      assert (Ef : J 1 0 (map f (r1 ++ z :: r2)) = J 1 0 (1 :: map f o)).
      { rewrite <- Fz. change (f z :: map f o) with (map f (z :: o)). apply J_permutation, Permutation_map.
        symmetry. apply Permutation_middle. }
      assert (Eg : J 1 0 (map g (r1 ++ z :: r2)) = J 1 0 (1 :: map g o)).
      { rewrite <- Gz. change (g z :: map g o) with (map g (z :: o)). apply J_permutation, Permutation_map.
        symmetry. apply Permutation_middle. }
      rewrite Ef, Eg in *.
      assert (B : J 1 0 (1 :: map f o) * I c x <= J 1 0 (1 :: repeat (/ oth * x) c) * J 1 0 (1 :: map g o)).
      { apply (others_bound x oth x_unit oth_least c 1 (map f o) (map g o)); try lra.
        - now rewrite map_length.
        - apply Forall_forall. intros q Hq. apply in_map_iff in Hq as (d & <- & Hd). rewrite Forall_forall in Ko. now apply (Ko d Hd).
        - clear - Ko. induction o as [|d o IH]; cbn; constructor.
          + destruct (Forall_inv Ko) as (U & _ & _ & S). now split.
          + apply IH. now apply Forall_inv_tail in Ko. }
      fold (I c (/ oth * x)) in B. destruct Ke as ((F0 & F1) & (G0 & G1) & Own & _).
      pose proof (I_pos c x ltac:(lra)) as Ix.
      assert (Iy : 0 < I c (/ oth * x)) by (apply I_pos; pose proof (inv_r oth oth_least); split; nra).
      apply Rle_trans with (stays * (g e * J 1 0 (1 :: map g o))).
      + apply Rmult_le_reg_r with (I c x); [assumption|].
        replace (stays * (g e * J 1 0 (1 :: map g o)) * I c x)
          with (own * g e * (I c (/ oth * x) * J 1 0 (1 :: map g o))) by (unfold stays; field; lra).
        apply Rle_trans with (f e * (I c (/ oth * x) * J 1 0 (1 :: map g o))).
        * rewrite Rmult_assoc. apply Rmult_le_compat_l; [assumption|exact B].
        * apply Rmult_le_compat_r; [|assumption]. apply Rmult_le_pos; lra.
      + apply Rmult_le_compat_r; [|assumption]. apply Rmult_le_pos; lra.
  Qed.

  (** For wide ranges the product of the two steps. *)
  Lemma product_pairs bound z l : f z = 1 -> g z = 1 -> Forall kept l -> own * oth <= bound ->
    forall e rest, Permutation (z :: l) (e :: rest) ->
    f e * J 1 0 (map f rest) <= bound * (g e * J 1 0 (map g rest)).
  Proof.
    intros Fz Gz Hl Hb e rest P.
    assert (All : forall d, In d (z :: l) -> in_unit (f d) /\ in_unit (g d) /\ f d <= own * g d /\ g d <= oth * f d).
    { rewrite Forall_forall in Hl. intros d [<-|Hd]; [rewrite Fz, Gz; unfold in_unit; lra|].
      destruct (Hl d Hd) as (U & V & Q & S). unfold in_unit in *. lra. }
    assert (All' : forall d, In d (e :: rest) -> in_unit (f d) /\ in_unit (g d) /\ f d <= own * g d /\ g d <= oth * f d).
    { intros d Hd. apply All. exact (Permutation_in d (Permutation_sym P) Hd). }
    assert (Gp : 0 < J 1 0 (map g rest)) by (apply chances_pos; intros d Hd; now apply (All' d (or_intror Hd))).
    assert (Fp : 0 < J 1 0 (map f rest)) by (apply chances_pos; intros d Hd; now apply (All' d (or_intror Hd))).
    assert (Sh : J 1 0 (map f rest) <= oth * J 1 0 (map g rest)).
    { apply shrink; [assumption|]. assert (R' : forall d, In d rest -> scaled_pair oth (f d) (g d)).
      { intros d Hd. destruct (All' d (or_intror Hd)) as (U & V & _ & S). exact (conj U (conj V S)). }
      clear - R'. induction rest as [|d rest IH]; cbn; constructor; [apply R'; now left|]. apply IH. intros; apply R'; now right. }
    destruct (All' e (or_introl eq_refl)) as ((F0 & _) & (G0 & _) & Own & _).
    apply Rle_trans with (own * oth * (g e * J 1 0 (map g rest))).
    - replace (own * oth * (g e * J 1 0 (map g rest))) with ((own * g e) * (oth * J 1 0 (map g rest))) by ring.
      apply Rmult_le_compat; lra.
    - apply Rmult_le_compat_r; [|assumption]. apply Rmult_le_pos; lra.
  Qed.
End Stays.

(** * Levels *)
Section Levels.
  Variables (T : nat -> R) (stride : nat) (more : nat -> nat).
  Hypothesis T_zero : T 0 = 1.
  Hypothesis T_pos : forall l, 0 < T l.
  Hypothesis T_falls : forall l, T (S l) <= T l.
  Hypothesis T_below : T 1 < 1.
  Hypothesis stride_least : (1 <= stride)%nat.
  Hypothesis more_most : forall k, (more k <= stride)%nat.

  Fixpoint below (d : nat) : nat := match d with O => O | S d' => below d' + more d' end%nat.

  Definition level (d len : nat) : nat := match len with O => O | S l => (1 + stride * l + below d)%nat end.

  (** The depth of a group. *)
  Definition has_depth (l : list nat) (d : nat) : Prop :=
    In (S d) l /\ forall n, In n l -> n <> 0%nat -> (S d <= n)%nat.

  (** Every step by so many levels, from level 1 on. *)
  Definition steps_by (by_ : nat) (r0 : R) : Prop := forall i, (1 <= i)%nat -> T i <= r0 * T (i + by_)%nat.

  Lemma T_antitone a b : (a <= b)%nat -> T b <= T a.
  Proof. intro H. induction H as [|b H IH]; [lra|]. pose proof (T_falls b). lra. Qed.

  Lemma T_in_unit l : in_unit (T l).
  Proof. pose proof (T_pos l). pose proof (T_antitone 0 l ltac:(lia)). unfold in_unit. lra. Qed.

  Lemma within_step by_ r0 a b : 0 <= r0 -> steps_by by_ r0 -> (1 <= a)%nat -> (b <= a + by_)%nat -> T a <= r0 * T b.
  Proof.
    intros Hr H Ha Hb. eapply Rle_trans; [now apply H|]. apply Rmult_le_compat_l; [assumption|]. now apply T_antitone.
  Qed.

  Lemma below_mono a b : (a <= b)%nat -> (below a <= below b)%nat.
  Proof. intro H. clear - H. induction H; cbn; lia. Qed.

  (** The first and the second lengths of every output. *)
  Variables (x r : R) (c : nat).
  Hypothesis T_one : T 1 = x.
  Hypothesis first_step : 1 <= x * r.
  Hypothesis own_step : steps_by stride r.

  Lemma least_step : 1 <= r.
  Proof. pose proof (T_pos 1). rewrite T_one in *. nra. Qed.

  Lemma x_unit : 0 < x < 1.
  Proof. pose proof (T_pos 1). rewrite T_one in *. lra. Qed.

  (** What the checker compares with exp (epsilon): [bound] is at least each of these. *)
  Variable bound : R.
  Variable wide : bool.  (* a wide range: products of steps instead of integrals *)
  Definition pays (own oth top : R) : Prop :=
    1 <= own /\ 1 <= oth /\ (if wide then own * oth <= bound else stays top own oth c <= bound).

  Hypothesis pays_same : pays r r x.
  Hypothesis pays_move : wide = false -> M x r c <= bound.
  (** At every depth k: Q steps by stride + more, S by stride - more, x' beyond the depth and x0 before it. *)
  Hypothesis pays_depth : forall k, (below k <> below (S k))%nat -> exists Q S' x' x0,
    steps_by (stride + more k) Q /\ steps_by (stride - more k) S' /\ T (1 + below (S k)) <= x' < 1 /\ T (1 + below k) <= x0 < 1 /\
    pays Q S' x' /\ pays S' Q x0.

  Section Pair.
    Variables (pairs : list (nat * nat)) (d d' : nat).
    Hypothesis size : length pairs = S (S c).
    Hypothesis near : Forall lengths_near pairs.
    Hypothesis one : zeros (map fst pairs) = 1%nat.
    Hypothesis one' : zeros (map snd pairs) = 1%nat.
    Hypothesis depth : has_depth (map fst pairs) d.
    Hypothesis depth' : has_depth (map snd pairs) d'.

    Let f (e : nat * nat) := T (level d (fst e)).
    Let g (e : nat * nat) := T (level d' (snd e)).

    Lemma kept_of own oth top l : 0 <= own -> 0 <= oth -> (forall e, In e l -> fst e <> 0%nat /\ snd e <> 0%nat /\ lengths_near e) ->
      T (1 + below d') <= top -> (exists a b, steps_by a own /\ steps_by b oth /\
        (stride + below d' <= a + below d)%nat /\ (stride + below d <= b + below d')%nat) ->
      Forall (kept f g top own oth) l.
    Proof.
      intros Ho Ho' Hl Ht (a & b & Sa & Sb & La & Lb). apply Forall_forall. intros [u v] He.
      destruct (Hl _ He) as (Hu & Hv & Nu & Nv). cbn [fst snd] in *. unfold kept, f, g. cbn [fst snd].
      destruct u as [|u]; [easy|]. destruct v as [|v]; [easy|]. cbn [level].
      split; [apply T_in_unit|]. split; [split; [left; apply T_pos|]|split].
      - eapply Rle_trans; [|exact Ht]. apply T_antitone. nia.
      - apply (within_step a own); try assumption; [lia|]. nia.
      - apply (within_step b oth); try assumption; [lia|]. nia.
    Qed.

    Lemma stay_case z l : Permutation pairs (z :: l) -> fst z = 0%nat -> snd z = 0%nat ->
      (forall e, In e l -> fst e <> 0%nat /\ snd e <> 0%nat) ->
      forall e rest, Permutation pairs (e :: rest) -> f e * J 1 0 (map f rest) <= bound * (g e * J 1 0 (map g rest)).
    Proof.
      intros P Z1 Z2 Hl e rest Pe.
      assert (Fz : f z = 1) by (unfold f; rewrite Z1; exact T_zero).
      assert (Gz : g z = 1) by (unfold g; rewrite Z2; exact T_zero).
      assert (Lc : length l = S c) by (pose proof (Permutation_length P) as Q; cbn in Q; lia).
      assert (Hl' : forall e, In e l -> fst e <> 0%nat /\ snd e <> 0%nat /\ lengths_near e).
      { intros q Hq. destruct (Hl q Hq). repeat split; try assumption; rewrite Forall_forall in near; apply near;
          apply (Permutation_in q (Permutation_sym P)); now right. }
      assert (Pz : Permutation (z :: l) (e :: rest)) by now rewrite <- P.
      (* the depth moves by at most one *)
      assert (Dd : (d <= d' + 1 /\ d' <= d + 1)%nat).
      { destruct depth as [D1 D2]. destruct depth' as [D1' D2'].
        assert (Inl : forall q, In q pairs -> q = z \/ In q l) by (intros q Hq; apply (Permutation_in q P) in Hq; destruct Hq; auto).
        apply in_map_iff in D1 as (q & Eq & Hq). apply in_map_iff in D1' as (q' & Eq' & Hq').
        destruct (Inl q Hq) as [->|Hql]; [lia|]. destruct (Inl q' Hq') as [->|Hql']; [lia|].
        destruct (Hl' q Hql) as (_ & Q2 & N1 & N2). destruct (Hl' q' Hql') as (Q1 & _ & N1' & N2').
        pose proof (D2 (fst q') (in_map fst _ _ Hq') Q1). pose proof (D2' (snd q) (in_map snd _ _ Hq) Q2). lia. }
      assert (Go : forall own oth top, pays own oth top -> top < 1 -> 0 < top -> oth <= bound -> Forall (kept f g top own oth) l ->
                f e * J 1 0 (map f rest) <= bound * (g e * J 1 0 (map g rest))).
      { intros own oth top (Po & Po' & Pb) Tt Tp Ob K. destruct wide.
        - apply (product_pairs f g top own oth ltac:(lra) Po Po' bound z l); assumption.
        - apply (stays_pairs f g top own oth c ltac:(lra) Po' bound z l); assumption. }
      assert (Own : forall own oth top, pays own oth top -> 0 < top < 1 -> own <= bound).
      { intros own oth top (Po & Po' & Pb) Tt. destruct wide; [nra|].
        eapply Rle_trans; [apply (stays_own top own oth c Tt Po Po')|exact Pb]. }
      pose proof x_unit as Xu. pose proof least_step as Rl.
      destruct (Nat.eq_dec (below d) (below d')) as [E|E].
      - (* nothing changes but the lengths *)
        apply (Go r r x); try assumption; try lra.
        + apply (Own r r x); assumption.
        + apply kept_of; try lra; [assumption|rewrite <- T_one; apply T_antitone; lia|]. exists stride, stride. repeat split; try assumption; lia.
      - assert (C : d' = S d \/ d = S d') by (destruct (Nat.eq_dec d d') as [Ed|]; [rewrite Ed in E; congruence|lia]).
        destruct C as [Ed|Ed].
        + destruct (pays_depth d ltac:(now rewrite <- Ed)) as (Q & S' & x' & x0 & SQ & SS & X1 & X0 & P1 & P2).
          pose proof (T_pos (1 + below (S d))). pose proof (T_pos (1 + below d)).
          pose proof P1 as (Q1 & S1 & _).
          apply (Go Q S' x'); try assumption; try lra.
          * apply (Own S' Q x0); [assumption|lra].
          * apply kept_of; try lra; [assumption|rewrite Ed; lra|]. exists (stride + more d)%nat, (stride - more d)%nat.
            pose proof (more_most d). rewrite Ed. repeat split; try assumption; cbn [below]; lia.
        + destruct (pays_depth d' ltac:(rewrite <- Ed; intro H; now apply E)) as (Q & S' & x' & x0 & SQ & SS & X1 & X0 & P1 & P2).
          pose proof (T_pos (1 + below (S d'))). pose proof (T_pos (1 + below d')).
          pose proof P1 as (Q1 & S1 & _).
          apply (Go S' Q x0); try assumption; try lra.
          * apply (Own Q S' x'); [assumption|lra].
          * apply kept_of; try lra; [assumption|]. exists (stride - more d')%nat, (stride + more d')%nat.
            pose proof (more_most d'). rewrite Ed. repeat split; try assumption; cbn [below]; lia.
    Qed.

    Theorem levels_pairs i : (i < length pairs)%nat -> flip (map f pairs) i <= bound * flip (map g pairs) i.
    Proof.
      intro Hi. destruct (one_zero fst pairs one) as (z & l & P & Z1 & Dn).
      destruct (Nat.eq_dec (snd z) 0) as [Z2|Z2].
      - (* the answer stays *)
        apply (flip_pairs (0, 0)%nat); [assumption|]. apply (stay_case z l P Z1 Z2).
        intros e He. split; [now apply Dn|].
        assert (Zs : zeros (map snd l) = 0%nat).
        { pose proof one' as O. rewrite (zeros_permutation _ _ (Permutation_map snd P)) in O. unfold zeros in O |- *. cbn [map filter] in O.
          rewrite Z2 in O. cbn in O. now injection O. }
        apply (zeros_none _ Zs). now apply in_map.
      - (* the answer moves: both depths are 0 *)
        assert (Nz : lengths_near z) by (rewrite Forall_forall in near; apply near, (Permutation_in z (Permutation_sym P)); now left).
        assert (S1 : snd z = 1%nat) by (unfold lengths_near in Nz; lia).
        assert (D0' : d' = 0%nat).
        { destruct depth' as [_ D]. assert (S d' <= snd z)%nat; [|lia].
          apply D; [|assumption]. apply in_map, (Permutation_in z (Permutation_sym P)). now left. }
        destruct (one_zero snd pairs one') as (q & l' & P' & Q2 & _).
        assert (Nq : lengths_near q) by (rewrite Forall_forall in near; apply near, (Permutation_in q (Permutation_sym P')); now left).
        assert (Q1 : fst q <> 0%nat).
        { assert (Hq : In q (z :: l)) by (apply (Permutation_in q P), (Permutation_in q (Permutation_sym P')); now left).
          destruct Hq as [->|Hq]; [congruence|now apply Dn]. }
        assert (D0 : d = 0%nat).
        { destruct depth as [_ D]. assert (S d <= fst q)%nat; [|unfold lengths_near in Nq; lia].
          apply D; [|assumption]. apply in_map, (Permutation_in q (Permutation_sym P')). now left. }
        pose proof x_unit as Xu. pose proof least_step as Rl.
        set (T' := fun len => T (level 0 len)).
        assert (Ef : map f pairs = map T' (map fst pairs)) by (rewrite map_map; apply map_ext; intro; unfold f, T'; now rewrite D0).
        assert (Eg : map g pairs = map T' (map snd pairs)) by (rewrite map_map; apply map_ext; intro; unfold g, T'; now rewrite D0').
        assert (Z : T' 0%nat = 1) by exact T_zero.
        assert (O : T' 1%nat = x) by (unfold T'; cbn [level below]; rewrite <- T_one; f_equal; lia).
        assert (Fa : forall len, T' (S len) <= T' len) by (intros [|len]; apply T_antitone; cbn [level]; nia).
        assert (St : forall len, T' len <= r * T' (S len)).
        { intros [|len]; [rewrite Z, O; lra|]. apply (within_step stride r); try assumption; cbn [level]; [lra|lia|nia]. }
        assert (Po : forall len, 0 < T' len) by (intro; apply T_pos).
        assert (N2 : Forall2 (fun a b => lengths_near (a, b)) (map fst pairs) (map snd pairs)).
        { generalize near. clear. induction pairs as [|[a b] q IH]; intro H; cbn; [constructor|].
          constructor; [now apply Forall_inv in H|]. apply IH. now apply Forall_inv_tail in H. }
        rewrite Ef, Eg.
        assert (Np : 0 <= flip (map T' (map snd pairs)) i).
        { apply flip_nonneg, Forall_forall. intros w Hw. apply in_map_iff in Hw as (k & <- & _). apply T_in_unit. }
        destruct wide eqn:W.
        + destruct pays_same as (_ & _ & B). rewrite W in B.
          apply Rle_trans with (r * r * flip (map T' (map snd pairs)) i).
          * apply flip_square; [assumption|].
            assert (N3 : forall a b, lengths_near (a, b) -> within_factor r (T' a) (T' b)).
            { intros a b Hab. destruct (T_near r Rl T' Po Fa St (a, b) Hab) as [A B'].
              exact (conj (T_in_unit _) (conj (T_in_unit _) (conj A B'))). }
            clear - N2 N3. induction N2; cbn; constructor; auto.
          * now apply Rmult_le_compat_r.
        + apply Rle_trans with (M x r c * flip (map T' (map snd pairs)) i).
          * apply (flip_tight x r Xu Rl c T' Z O Po Fa St); try assumption; now rewrite map_length.
          * apply Rmult_le_compat_r; [assumption|now apply pays_move].
    Qed.
  End Pair.
End Levels.
