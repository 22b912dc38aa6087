(** check_scores of the score tables and its sampler, and the proof that what it accepts is private.

    T[0] = 2^62 > T[1] >= ... >= T[L] >= 1; a length beyond the table counts as L. Up to MOST_SCORED outputs the bound is
    that of [flip_tight], as a fraction of whole numbers; beyond, the square of the steepest step.

    bound_is_fraction   the fraction is the bound
    index_words         of the 2^62 words, each of s hands has 2^62/s, up to one more or less
    halves              the sampler's arithmetic in two halves is the product's quotient
    scores_private      for neighbouring lengths and every set of reports, as the sampler draws them *)
From Coq Require Import ZArith Reals List Bool Lra Lia Psatz Arith.
From Inbounds Require Import Exp Privacy Matrix Integral Scores Tight.
Import ListNotations.
Open Scope Z_scope.

(** * The checker *)
Definition MOST_OUTPUTS := 2 ^ 24.
Definition MOST_SCORED := 2 ^ 12.

Fixpoint falling (t : list Z) : bool :=
  match t with
  | a :: ((b :: _) as rest) => (b <=? a) && falling rest
  | [a] => 1 <=? a
  | [] => false
  end.

Definition quotient_above (a b : Z) : Z := - (- a / b).

(** R * 2^62: the largest step, rounded up. *)
Fixpoint steepest_step (t : list Z) : Z :=
  match t with
  | a :: ((b :: _) as rest) => Z.max (quotient_above (a * TOTAL) b) (steepest_step rest)
  | _ => 0
  end.

Definition power (a : Z) (n : nat) : Z := a ^ Z.of_nat n.

(** int (1-u) (1-zu)^c du * X^2 b^c (c+1) (c+2) with z = X/b *)
Definition flat_integral (X b : Z) (c : nat) : Z :=
  X * (Z.of_nat c + 2) * power b (c + 1) - power b (c + 2) + power (b - X) (c + 2).

(** int (1-xu) (1-yu)^c du * B X r^c (c+1) (c+2) with x = X/B, y = X/r *)
Definition moved_integral (X r : Z) (c : nat) : Z :=
  (TOTAL - r) * (Z.of_nat c + 2) * (power r (c + 1) - power (r - X) (c + 1))
  + (Z.of_nat c + 1) * (power r (c + 2) - power (r - X) (c + 2)).

Definition attained_ratio (table : list Z) (width : Z) : Z * Z :=
  let X := nth 1 table 0 in
  let r := steepest_step table in
  if MOST_SCORED <? width then (r * r, TOTAL * TOTAL)
  else let c := Z.to_nat (width - 1) in
       (Z.max (r * flat_integral X r c) (TOTAL * moved_integral X r c) * power TOTAL c,
        TOTAL * power r c * flat_integral X TOTAL c).

Definition check_scores (table : list Z) (width en ed : Z) : bool :=
  (0 <=? en) && (0 <? ed) && (2 <=? Z.of_nat (length table))
  && (nth 0 table 0 =? TOTAL) && (nth 1 table 0 <? TOTAL) && falling table
  && (1 <=? width) && (width <? MOST_OUTPUTS)
  && (let (high, low) := attained_ratio table width in
      let m := width + 1 in
      Z.shiftl (high * (TOTAL + m)) EXP_BITS <=? ratio_below en ed 1 1 * (low * (TOTAL - m))).

(** * The sampler *)

(** The index among s hands that a word chooses. *)
Definition index (s word : Z) : Z := word * s / TOTAL.

(** The words that choose index h are those from [first_word s h] up to [first_word s (h + 1)]. *)
Definition first_word (s h : Z) : Z := quotient_above (h * TOTAL) s.
Definition words (s h : Z) : Z := first_word s (h + 1) - first_word s h.

Lemma quotient_above_spec a b : 0 < b -> a <= b * quotient_above a b < a + b.
Proof.
  intro Hb. unfold quotient_above. pose proof (Z.mul_div_le (- a) b Hb). pose proof (Z.mul_succ_div_gt (- a) b Hb). lia.
Qed.

Theorem index_words s h word : 0 < s -> (index s word = h <-> first_word s h <= word < first_word s (h + 1)).
Proof.
  intros Hs. assert (HT : 0 < TOTAL) by reflexivity. unfold index, first_word.
  pose proof (quotient_above_spec (h * TOTAL) s Hs) as A. pose proof (quotient_above_spec ((h + 1) * TOTAL) s Hs) as B.
  set (a := quotient_above (h * TOTAL) s) in *. set (b := quotient_above ((h + 1) * TOTAL) s) in *. clearbody a b. split.
  - intros <-. pose proof (Z.mul_div_le (word * s) TOTAL HT). pose proof (Z.mul_succ_div_gt (word * s) TOTAL HT).
    set (q := word * s / TOTAL) in *. clearbody q. split; nia.
  - intros [L U]. symmetry. apply Z.div_unique with (word * s - TOTAL * h); [|ring]. left. nia.
Qed.

(** All words are among them: the first index begins at 0, the last ends at 2^62. *)
Lemma words_range s : 0 < s -> first_word s 0 = 0 /\ first_word s s = TOTAL.
Proof.
  intro Hs. unfold first_word, quotient_above. rewrite Z.mul_0_l. split; [now rewrite Z.div_0_l by lia|].
  replace (- (s * TOTAL)) with (- TOTAL * s) by ring. rewrite Z.div_mul by lia. ring.
Qed.

Lemma words_near s h : 0 < s -> TOTAL - s < s * words s h < TOTAL + s.
Proof.
  intros Hs. unfold words, first_word.
  pose proof (quotient_above_spec (h * TOTAL) s Hs). pose proof (quotient_above_spec ((h + 1) * TOTAL) s Hs). lia.
Qed.

(** word * s / 2^62 in two halves of 31 bits. *)
Theorem halves word s : 0 <= word -> 0 <= s ->
  index s word = ((word / 2 ^ 31) * s + (word mod 2 ^ 31) * s / 2 ^ 31) / 2 ^ 31.
Proof.
  intros Hw Hs. unfold index, TOTAL. change (2 ^ 62) with (2 ^ 31 * 2 ^ 31). rewrite <- Z.div_div by lia. f_equal.
  rewrite (Z.div_mod word (2 ^ 31)) at 1 by lia.
  replace ((2 ^ 31 * (word / 2 ^ 31) + word mod 2 ^ 31) * s)
    with (word / 2 ^ 31 * s * 2 ^ 31 + (word mod 2 ^ 31) * s) by ring.
  rewrite Z.div_add_l by lia. reflexivity.
Qed.

Open Scope R_scope.

Definition chance (s h : nat) : R := IZR (words (Z.of_nat s) (Z.of_nat h)) / IZR TOTAL.

(** Pr[i]: coin i shows a hand, and the word chooses it among all raised hands. *)
Definition drawn (ps : list R) (i : nat) : R :=
  coins ps (fun bs => if nth i bs false then chance (hands bs) (hands (firstn i bs)) else 0).

Lemma T_pos' : 0 < IZR TOTAL. Proof. apply IZR_pos. reflexivity. Qed.

Lemma chance_near m s h : (0 < s)%nat -> (s <= m)%nat ->
  (1 - INR m / IZR TOTAL) * / INR s <= chance s h <= (1 + INR m / IZR TOTAL) * / INR s.
Proof.
  intros Hs Hm. pose proof T_pos' as HT. pose proof (words_near (Z.of_nat s) (Z.of_nat h) ltac:(lia)) as [A B].
  unfold chance. set (w := words (Z.of_nat s) (Z.of_nat h)) in *. clearbody w.
  apply IZR_lt in A, B. rewrite minus_IZR, mult_IZR, <- INR_IZR_INZ in A. rewrite plus_IZR, mult_IZR, <- INR_IZR_INZ in B.
  apply le_INR in Hm. apply lt_0_INR in Hs.
  split; apply Rmult_le_reg_r with (IZR TOTAL * INR s); try nra.
  - replace ((1 - INR m / IZR TOTAL) * / INR s * (IZR TOTAL * INR s)) with (IZR TOTAL - INR m) by (field; lra).
    replace (IZR w / IZR TOTAL * (IZR TOTAL * INR s)) with (INR s * IZR w) by (field; lra). lra.
  - replace ((1 + INR m / IZR TOTAL) * / INR s * (IZR TOTAL * INR s)) with (IZR TOTAL + INR m) by (field; lra).
    replace (IZR w / IZR TOTAL * (IZR TOTAL * INR s)) with (INR s * IZR w) by (field; lra). lra.
Qed.

Lemma hands_le bs : (hands bs <= length bs)%nat.
Proof. induction bs as [|[|] bs IH]; cbn; lia. Qed.

Lemma hands_here bs : forall i, nth i bs false = true -> (0 < hands bs)%nat.
Proof. induction bs as [|b bs IH]; intros [|i] H; cbn in *; try discriminate; [subst; lia|]. specialize (IH i H). lia. Qed.

(** The sampler's law against the ideal one. *)
Lemma drawn_near ps i : Forall in_unit ps -> let d := INR (length ps) / IZR TOTAL in
  (1 - d) * flip ps i <= drawn ps i <= (1 + d) * flip ps i.
Proof.
  intros Hp d. unfold flip, drawn. rewrite <- !coins_scale.
  split; apply coins_le; auto; intros bs Hb.
  all: destruct (nth i bs false) eqn:E; [|rewrite Rmult_0_r; lra].
  all: pose proof (hands_here bs i E) as H0; pose proof (hands_le bs) as H1; rewrite Hb in H1.
  all: destruct (chance_near (length ps) (hands bs) (hands (firstn i bs)) H0 H1); assumption.
Qed.

Lemma flip_nonneg ps i : Forall in_unit ps -> 0 <= flip ps i.
Proof.
  intro H. unfold flip. apply Rle_trans with (coins ps (fun _ => 0)); [rewrite coins_zero; lra|].
  apply coins_le; [assumption|]. intros bs _.
  destruct (nth i bs false) eqn:E; [|lra]. left. apply Rinv_0_lt_compat, lt_0_INR. now apply (hands_here bs i).
Qed.

(** * The closed forms *)
Lemma factors_repeat z k u : factors (repeat z k) u = (1 - z * u) ^ k.
Proof. induction k; cbn; [reflexivity|]. now rewrite IHk. Qed.

Lemma power_integral z k : z * INR (S k) * J 1 0 (repeat z k) = 1 - (1 - z) ^ S k.
Proof.
  apply (integral_unique (fun u => z * INR (S k) * factors (repeat z k) u) 0 1); [lra| |].
  - pose proof (integral_linear _ _ _ _ _ _ (z * INR (S k)) 0 (J0_integral 1 (repeat z k)) (J0_integral 1 (repeat z k))) as L.
    replace (z * INR (S k) * J 1 0 (repeat z k) + 0 * J 1 0 (repeat z k)) with (z * INR (S k) * J 1 0 (repeat z k)) in L by ring.
    eapply integral_ext; [|exact L]. intro u. cbv beta. ring.
  - exists (fun u => -1 * (1 - z * u) ^ S k). split.
    + intro u. rewrite factors_repeat.
      replace (z * INR (S k) * (1 - z * u) ^ k) with (-1 * (INR (S k) * (1 - z * u) ^ k * (0 - z * 1))) by ring.
      apply (derivable_pt_lim_scal (fun u => (1 - z * u) ^ S k)).
      apply (derivable_pt_lim_comp (fun u => 1 - z * u) (fun y => y ^ S k)).
      * apply (derivable_pt_lim_minus (fun _ => 1) (fun u => z * u)); [apply derivable_pt_lim_const|].
        apply (derivable_pt_lim_scal id). apply derivable_pt_lim_id.
      * apply derivable_pt_lim_pow.
    + rewrite Rmult_0_r, Rmult_1_r, Rminus_0_r, pow1. ring.
Qed.

(** 1 - h u = (1 - h/z) + (h/z) (1 - z u) *)
Lemma first_factor h z c : z <> 0 ->
  J 1 0 (h :: repeat z c) = (1 - h / z) * J 1 0 (repeat z c) + h / z * J 1 0 (repeat z (S c)).
Proof.
  intros Hz. apply (integral_unique (factors (h :: repeat z c)) 0 1); [lra|apply J0_integral|].
  eapply integral_ext; [|apply (integral_linear _ _ _ _ _ _ (1 - h / z) (h / z) (J0_integral 1 (repeat z c)) (J0_integral 1 (repeat z (S c))))].
  intro u. cbv beta. cbn [repeat factors]. field. assumption.
Qed.

Lemma closed_form h z c : z <> 0 ->
  z * INR (S c) * INR (S (S c)) * J 1 0 (h :: repeat z c)
  = (1 - h / z) * INR (S (S c)) * (1 - (1 - z) ^ S c) + h / z * INR (S c) * (1 - (1 - z) ^ S (S c)).
Proof.
  intros Hz. rewrite first_factor by assumption. rewrite <- (power_integral z c), <- (power_integral z (S c)). ring.
Qed.

Lemma IZR_power a n : IZR (power a n) = IZR a ^ n.
Proof. unfold power. now rewrite <- pow_IZR. Qed.

Lemma scaled_power b X n : b <> 0 -> b ^ n * (1 - X / b) ^ n = (b - X) ^ n.
Proof. intro Hb. rewrite <- Rpow_mult_distr. f_equal. field. assumption. Qed.

Lemma flat_closed X b c : (0 < X)%Z -> (0 < b)%Z ->
  IZR (flat_integral X b c) =
  J 1 0 (1 :: repeat (IZR X / IZR b) c) * (IZR X ^ 2 * IZR b ^ c * INR (S c) * INR (S (S c))).
Proof.
  intros HX Hb. apply IZR_pos in HX, Hb. unfold flat_integral.
  rewrite plus_IZR, minus_IZR, !mult_IZR, !IZR_power, plus_IZR, minus_IZR, <- INR_IZR_INZ.
  set (A := IZR X) in *. set (B := IZR b) in *.
  assert (Hz : A / B <> 0) by (apply Rgt_not_eq; apply Rmult_lt_0_compat; [lra|now apply Rinv_0_lt_compat]).
  pose proof (closed_form 1 (A / B) c Hz) as E.
  replace (J 1 0 (1 :: repeat (A / B) c) * (A ^ 2 * B ^ c * INR (S c) * INR (S (S c))))
    with (A / B * INR (S c) * INR (S (S c)) * J 1 0 (1 :: repeat (A / B) c) * (A * B * B ^ c)) by (field; lra).
  rewrite E. rewrite <- (scaled_power B A (c + 2)) by lra.
  replace (c + 2)%nat with (S (S c)) by lia. replace (c + 1)%nat with (S c) by lia.
  set (q := (1 - A / B)). assert (Eq : q * B = B - A) by (unfold q; field; lra).
  rewrite !S_INR. cbn [pow].
  replace ((1 - 1 / (A / B)) * (INR c + 1 + 1) * (1 - q * q ^ c) + 1 / (A / B) * (INR c + 1) * (1 - q * (q * q ^ c)))
    with (/ A * ((A - B) * (INR c + 1 + 1) * (1 - q * q ^ c) + B * (INR c + 1) * (1 - q * (q * q ^ c)))) by (field; lra).
  replace (/ A * ((A - B) * (INR c + 1 + 1) * (1 - q * q ^ c) + B * (INR c + 1) * (1 - q * (q * q ^ c))) * (A * B * B ^ c))
    with (((A - B) * (INR c + 1 + 1) * (1 - q * q ^ c) + B * (INR c + 1) * (1 - q * (q * q ^ c))) * (B * B ^ c)) by (field; lra).
  replace (A - B) with (- (q * B)) by lra. replace A with (B - q * B) by lra. ring.
Qed.

Lemma moved_closed X r c : (0 < X)%Z -> (0 < r)%Z ->
  IZR (moved_integral X r c) =
  J 1 0 (IZR X / IZR TOTAL :: repeat (IZR X / IZR r) c) * (IZR TOTAL * IZR X * IZR r ^ c * INR (S c) * INR (S (S c))).
Proof.
  intros HX Hr. apply IZR_pos in HX, Hr. pose proof T_pos' as HT. unfold moved_integral.
  rewrite plus_IZR, !mult_IZR, !minus_IZR, !IZR_power, !plus_IZR, !minus_IZR, <- INR_IZR_INZ.
  set (A := IZR X) in *. set (B := IZR TOTAL) in *. set (b := IZR r) in *.
  assert (Hz : A / b <> 0) by (apply Rgt_not_eq; apply Rmult_lt_0_compat; [lra|now apply Rinv_0_lt_compat]).
  pose proof (closed_form (A / B) (A / b) c Hz) as E.
  replace (J 1 0 (A / B :: repeat (A / b) c) * (B * A * b ^ c * INR (S c) * INR (S (S c))))
    with (A / b * INR (S c) * INR (S (S c)) * J 1 0 (A / B :: repeat (A / b) c) * (B * b * b ^ c)) by (field; lra).
  rewrite E. rewrite <- !(scaled_power b A) by lra.
  replace (c + 2)%nat with (S (S c)) by lia. replace (c + 1)%nat with (S c) by lia.
  set (q := (1 - A / b)). rewrite !S_INR. cbn [pow].
  replace (A / B / (A / b)) with (b / B) by (field; lra). field. lra.
Qed.

(** * Soundness *)
Definition table_at (table : list Z) (l : nat) : Z := nth (Nat.min l (length table - 1)) table 0%Z.
Definition chances (table : list Z) (l : nat) : R := IZR (table_at table l) / IZR TOTAL.

Lemma falling_spec t : falling t = true ->
  (forall l, (l < length t)%nat -> (1 <= nth l t 0)%Z) /\ (forall l, (S l < length t)%nat -> (nth (S l) t 0 <= nth l t 0)%Z).
Proof.
  induction t as [|a t IH]; [discriminate|]. destruct t as [|b t].
  - cbn. intro H. apply Z.leb_le in H. split; intros [|l] Hl; lia.
  - intro H. change (falling (a :: b :: t)) with ((b <=? a)%Z && falling (b :: t)) in H.
    apply andb_true_iff in H as [H1 H2]. apply Z.leb_le in H1. destruct (IH H2) as [P Q]. cbn [length] in *. split.
    + intros [|l] Hl; cbn [nth]; [pose proof (P 0%nat ltac:(lia)); cbn in *; lia|apply P; lia].
    + intros [|l] Hl; cbn [nth]; [assumption|apply Q; lia].
Qed.

Lemma steepest_spec t : (forall l, (l < length t)%nat -> (1 <= nth l t 0)%Z) ->
  forall l, (S l < length t)%nat -> (nth l t 0 * TOTAL <= steepest_step t * nth (S l) t 0)%Z.
Proof.
  induction t as [|a t IH]; intros P l Hl; [cbn in Hl; lia|]. destruct t as [|b t]; [cbn in Hl; lia|].
  change (steepest_step (a :: b :: t)) with (Z.max (quotient_above (a * TOTAL) b) (steepest_step (b :: t))).
  destruct l as [|l].
  - cbn [nth]. pose proof (P 1%nat ltac:(cbn; lia)) as Pb. cbn in Pb.
    pose proof (quotient_above_spec (a * TOTAL) b ltac:(lia)). nia.
  - specialize (IH ltac:(intros k Hk; apply (P (S k)); cbn in *; lia) l ltac:(cbn in *; lia)).
    pose proof (P (S (S l)) ltac:(cbn in *; lia)) as Pn. cbn [nth] in *. nia.
Qed.

Section Accepted.
  Variables (table : list Z) (width en ed : Z).
  Hypothesis accepted : check_scores table width en ed = true.
  Let X := nth 1 table 0%Z.
  Let r := steepest_step table.
  Let c := Z.to_nat (width - 1).
  Let T := chances table.

  Lemma facts : (0 <= en)%Z /\ (0 < ed)%Z /\ (2 <= length table)%nat /\ nth 0 table 0%Z = TOTAL /\ (X < TOTAL)%Z /\
    falling table = true /\ (1 <= width < MOST_OUTPUTS)%Z /\
    (fst (attained_ratio table width) * (TOTAL + (width + 1)) * 2 ^ EXP_BITS
     <= ratio_below en ed 1 1 * (snd (attained_ratio table width) * (TOTAL - (width + 1))))%Z.
  Proof.
    pose proof accepted as H. unfold check_scores in H. rewrite !andb_true_iff in H.
    destruct H as [[[[[[[[A B] C] D] E] F] G] G'] K]. apply Z.leb_le in A, C, G. apply Z.ltb_lt in B, E, G'. apply Z.eqb_eq in D.
    destruct (attained_ratio table width) as [high low]. cbn [fst snd]. apply Z.leb_le in K.
    rewrite Z.shiftl_mul_pow2 in K by easy. repeat split; auto; lia.
  Qed.

  Lemma X_pos : (1 <= X)%Z.
  Proof. destruct facts as (_ & _ & L & _ & _ & F & _). apply (falling_spec table F). lia. Qed.

  Lemma table_step l : (table_at table l * TOTAL <= r * table_at table (S l))%Z /\ (table_at table (S l) <= table_at table l)%Z /\
    (1 <= table_at table l)%Z.
  Proof.
    destruct facts as (_ & _ & L & Z0 & XT & F & _). destruct (falling_spec table F) as [P Q].
    pose proof (steepest_spec table P) as S. fold r in S. unfold table_at.
    assert (RT : (TOTAL <= r)%Z).
    { pose proof (S 0%nat ltac:(lia)) as S0. rewrite Z0 in S0. fold X in S0. pose proof X_pos. nia. }
    destruct (le_lt_dec (length table - 1) l) as [Hl|Hl].
    - replace (Nat.min l (length table - 1)) with (length table - 1)%nat by lia.
      replace (Nat.min (Datatypes.S l) (length table - 1)) with (length table - 1)%nat by lia.
      pose proof (P (length table - 1)%nat ltac:(lia)). nia.
    - replace (Nat.min l (length table - 1)) with l by lia.
      replace (Nat.min (Datatypes.S l) (length table - 1)) with (Datatypes.S l) by lia.
      split; [apply S; lia|]. split; [apply Q; lia|apply P; lia].
  Qed.

  Lemma r_pos : (TOTAL <= r)%Z.
  Proof.
    destruct facts as (_ & _ & L & Z0 & _). pose proof (table_step 0) as (A & _). pose proof X_pos. unfold table_at in A.
    replace (Nat.min 0 (length table - 1)) with 0%nat in A by lia.
    replace (Nat.min 1 (length table - 1)) with 1%nat in A by lia. rewrite Z0 in A. fold X in A.
    destruct facts as (_ & _ & _ & _ & XT & _). nia.
  Qed.

  Definition x : R := IZR X / IZR TOTAL.
  Definition R_step : R := IZR r / IZR TOTAL.

  Lemma T0 : T 0 = 1.
  Proof.
    destruct facts as (_ & _ & L & Z0 & _). unfold T, chances, table_at.
    replace (Nat.min 0 (length table - 1)) with 0%nat by lia. rewrite Z0. pose proof T_pos'. field. lra.
  Qed.

  Lemma T1 : T 1 = x.
  Proof.
    destruct facts as (_ & _ & L & _). unfold T, chances, table_at, x.
    now replace (Nat.min 1 (length table - 1)) with 1%nat by lia.
  Qed.

  Lemma x_unit : 0 < x < 1.
  Proof.
    pose proof X_pos as A. destruct facts as (_ & _ & _ & _ & B & _). pose proof T_pos' as HT. unfold x. apply IZR_lt in B.
    assert (0 < IZR X) by (apply IZR_pos; lia). split.
    - apply Rmult_lt_0_compat; [assumption|now apply Rinv_0_lt_compat].
    - apply Rmult_lt_reg_r with (IZR TOTAL); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
  Qed.

  Lemma T_positive l : 0 < T l.
  Proof.
    destruct (table_step l) as (_ & _ & A). apply Rmult_lt_0_compat; [apply IZR_pos; lia|apply Rinv_0_lt_compat, T_pos'].
  Qed.

  Lemma T_falls l : T (S l) <= T l.
  Proof.
    destruct (table_step l) as (_ & A & _). apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, T_pos'|now apply IZR_le].
  Qed.

  Lemma T_steps l : T l <= R_step * T (S l).
  Proof.
    destruct (table_step l) as (A & _). pose proof T_pos' as HT. apply IZR_le in A. rewrite !mult_IZR in A.
    unfold T, chances, R_step. apply Rmult_le_reg_r with (IZR TOTAL * IZR TOTAL); [nra|].
    replace (IZR (table_at table l) / IZR TOTAL * (IZR TOTAL * IZR TOTAL)) with (IZR (table_at table l) * IZR TOTAL) by (field; lra).
    replace (IZR r / IZR TOTAL * (IZR (table_at table (S l)) / IZR TOTAL) * (IZR TOTAL * IZR TOTAL))
      with (IZR r * IZR (table_at table (S l))) by (field; lra). exact A.
  Qed.

  Lemma first_step : 1 <= x * R_step.
  Proof. pose proof (T_steps 0) as H. rewrite T0, T1 in H. lra. Qed.

  (** The bound of [flip_tight], or the square beyond MOST_SCORED. *)
  Definition bound : R := if (MOST_SCORED <? width)%Z then R_step * R_step else M x R_step c.

  Theorem bound_is_fraction : 0 < IZR (snd (attained_ratio table width)) /\
    IZR (fst (attained_ratio table width)) = bound * IZR (snd (attained_ratio table width)).
  Proof.
    pose proof T_pos' as HT. pose proof X_pos as HX. pose proof r_pos as Hr.
    assert (HX' : 0 < IZR X) by (apply IZR_pos; lia).
    assert (Hr0 : (0 < r)%Z) by (assert (0 < TOTAL)%Z by reflexivity; lia).
    assert (Hr' : 0 < IZR r) by now apply IZR_pos.
    unfold attained_ratio, bound. fold X r. destruct (MOST_SCORED <? width)%Z; cbn [fst snd].
    - rewrite !mult_IZR. split; [nra|]. unfold R_step. field. lra.
    - fold c. pose proof x_unit as Xu. pose proof (I_pos c x ltac:(lra)) as Ip.
      assert (Np : 0 < INR (S c) * INR (S (S c))) by (apply Rmult_lt_0_compat; apply lt_0_INR; lia).
      rewrite !mult_IZR, !IZR_power.
      rewrite (flat_closed X TOTAL c) by (lia || reflexivity).
      fold x. fold (I c x).
      assert (Pr' : 0 < IZR r ^ c) by now apply pow_lt. assert (PT : 0 < IZR TOTAL ^ c) by now apply pow_lt.
      assert (PX : 0 < IZR X ^ 2) by now apply pow_lt. split.
      + repeat (apply Rmult_lt_0_compat; try assumption); apply lt_0_INR; lia.
      + assert (Emax : IZR (Z.max (r * flat_integral X r c) (TOTAL * moved_integral X r c))
                       = Rmax (IZR (r * flat_integral X r c)) (IZR (TOTAL * moved_integral X r c))).
        { unfold Rmax. destruct (Rle_dec _ _) as [Hle|Hle]; [apply le_IZR in Hle; now rewrite Z.max_r|].
          apply Rnot_le_lt, lt_IZR in Hle. rewrite Z.max_l; [reflexivity|lia]. }
        assert (Ey : y x R_step = IZR X / IZR r) by (unfold y, x, R_step; field; lra).
        set (q := IZR TOTAL * IZR X ^ 2 * IZR r ^ c * INR (S c) * INR (S (S c))).
        assert (Qp : 0 <= q).
        { left. unfold q. repeat (apply Rmult_lt_0_compat; try assumption); apply lt_0_INR; lia. }
        assert (E1 : IZR (r * flat_integral X r c) = q * (R_step * I c (y x R_step))).
        { rewrite mult_IZR, flat_closed by lia. rewrite Ey. unfold I, R_step, q. field. lra. }
        assert (E2 : IZR (TOTAL * moved_integral X r c) = q * (K x R_step c / x)).
        { rewrite mult_IZR, moved_closed by lia. unfold K. rewrite Ey. fold x. unfold q, x at 3. field. lra. }
        rewrite Emax, E1, E2, RmaxRmult by assumption. unfold M. unfold q. field. lra.
  Qed.

  Lemma chances_unit l : Forall in_unit (map T l).
  Proof.
    apply Forall_forall. intros z Hz. apply in_map_iff in Hz as (k & <- & _).
    pose proof (T_positive k). pose proof x_unit. pose proof T0 as E0. unfold in_unit.
    split; [lra|]. clear H. induction k as [|k IH]; [lra|]. pose proof (T_falls k). lra.
  Qed.

  (** Neighbouring groups: every length moves by at most one, and each group has one true answer. *)
  Definition neighbouring (l l' : list nat) : Prop :=
    length l = Z.to_nat (width + 1) /\ Forall2 (fun a b => lengths_near (a, b)) l l' /\ zeros l = 1%nat /\ zeros l' = 1%nat.

  Lemma flip_bound l l' i : neighbouring l l' -> (i < length l)%nat -> flip (map T l) i <= bound * flip (map T l') i.
  Proof.
    intros (L & N & Z1 & Z2) Hi. destruct facts as (_ & _ & _ & _ & _ & _ & W & _).
    unfold bound. destruct (Z.ltb_spec MOST_SCORED width) as [Hw|Hw].
    - apply flip_square.
      + pose proof first_step. pose proof x_unit. nra.
      + clear L Z1 Z2 Hi. induction N as [|a b l l' Hab N IH]; cbn; constructor; [|exact IH].
        pose proof (Forall_inv (chances_unit [a])) as Ua. pose proof (Forall_inv (chances_unit [b])) as Ub.
        destruct (T_near x R_step x_unit first_step T T_positive T_falls T_steps (a, b) Hab) as [A B].
        exact (conj Ua (conj Ub (conj A B))).
    - apply (flip_tight x R_step x_unit first_step c T T0 T1 T_positive T_falls T_steps); auto.
      rewrite L. unfold c. lia.
  Qed.

  Theorem scores_pointwise l l' i : neighbouring l l' -> (i < length l)%nat ->
    drawn (map T l) i <= exp (eps en ed) * drawn (map T l') i.
  Proof.
    intros Hn Hi. pose proof (flip_bound l l' i Hn Hi) as B. destruct Hn as (L & N & _).
    assert (L' : length l' = length l) by (clear - N; induction N; cbn; congruence).
    destruct (drawn_near (map T l) i (chances_unit l)) as [_ U]. destruct (drawn_near (map T l') i (chances_unit l')) as [D _].
    rewrite map_length in U, D. rewrite L' in D. rewrite L in U, D.
    pose proof (flip_nonneg (map T l') i (chances_unit l')) as P.
    destruct facts as (He & Hed & _ & _ & _ & _ & W & Acc). destruct bound_is_fraction as [LowP Frac].
    destruct (ratio_below_sound en ed 1 1 He Hed ltac:(lia) ltac:(lia)) as [_ Hexp].
    replace (IZR en / IZR ed * (1 / 1)) with (eps en ed) in Hexp by (unfold eps; field; apply not_0_IZR; lia).
    set (m := INR (Z.to_nat (width + 1))) in *.
    assert (Em : m = IZR (width + 1)) by (unfold m; rewrite INR_IZR_INZ, Z2Nat.id by lia; reflexivity).
    pose proof T_pos' as HT.
    assert (Mt : m < IZR TOTAL).
    { rewrite Em. apply IZR_lt. unfold MOST_OUTPUTS, TOTAL in *. lia. }
    assert (Mp : 0 <= m) by apply pos_INR.
    set (d := m / IZR TOTAL) in *.
    assert (Dd : 0 <= d < 1).
    { unfold d. split; [apply Rmult_le_pos; [assumption|left; now apply Rinv_0_lt_compat]|].
      apply Rmult_lt_reg_r with (IZR TOTAL); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
    assert (Key : bound * (1 + d) <= exp (eps en ed) * (1 - d)).
    { assert (G : IZR (fst (attained_ratio table width) * (TOTAL + (width + 1)))
                  <= exp (eps en ed) * IZR (snd (attained_ratio table width) * (TOTAL - (width + 1)))).
      { apply (ratio_kept (ratio_below en ed 1 1)); [|assumption|assumption].
        apply le_IZR. rewrite mult_IZR, minus_IZR, <- Em. apply Rmult_le_pos; lra. }
      rewrite !mult_IZR, plus_IZR, minus_IZR, <- Em, Frac in G.
      set (low := IZR (snd (attained_ratio table width))) in *.
      apply Rmult_le_reg_r with (low * IZR TOTAL); [now apply Rmult_lt_0_compat|].
      replace (bound * (1 + d) * (low * IZR TOTAL)) with (bound * low * (IZR TOTAL + m)) by (unfold d; field; lra).
      replace (exp (eps en ed) * (1 - d) * (low * IZR TOTAL)) with (exp (eps en ed) * (low * (IZR TOTAL - m))) by (unfold d; field; lra).
      exact G. }
    apply Rle_trans with ((1 + d) * (bound * flip (map T l') i)).
    { eapply Rle_trans; [exact U|]. apply Rmult_le_compat_l; lra. }
    apply Rle_trans with (exp (eps en ed) * ((1 - d) * flip (map T l') i)).
    { replace ((1 + d) * (bound * flip (map T l') i)) with (bound * (1 + d) * flip (map T l') i) by ring.
      rewrite <- Rmult_assoc. now apply Rmult_le_compat_r. }
    apply Rmult_le_compat_l; [left; apply exp_pos|exact D].
  Qed.

  (** The mechanism from lengths to reports, as it is drawn. *)
  Definition score_law : mechanism (list nat) nat :=
    Mechanism (seq 0 (Z.to_nat (width + 1))) (fun l i => drawn (map T l) i).

  Theorem scores_private : private neighbouring (eps en ed) score_law.
  Proof.
    apply pointwise_private. intros l l' Hn i Hi. cbn in *. apply in_seq in Hi. apply scores_pointwise; [assumption|].
    destruct Hn as (L & _). lia.
  Qed.
End Accepted.
