(** check_sizes of trusted/joint_sizes.py, and the proof that what it accepts is private: several quantiles of a group whose
    size is secret, in one draw.

    A way of an output is a number of places with a rank and a value for each quantile among so many; [level] of Joint.v is
    its length for the records that there are. An output has the sum over its ways of x^level, and a floor.

    over_extended    one record more or less: no weight moves by more than x
    shares_move      weights that move by k at most make probabilities that move by k^2 at most
    sizes_promise    for all accepted numbers, whatever the ways, whatever is drawn within the slack and by lot *)
From Coq Require Import ZArith Reals List Bool Lra Lia Psatz Arith.
From Inbounds Require Import Exp Privacy Matrix Kinds Lengths Joint.
Import ListNotations.
Open Scope R_scope.

Lemma shares_move {O} (outputs : list O) (a b : O -> R) k s : (forall o, In o outputs -> 0 < a o) ->
  (forall o, In o outputs -> 0 < b o) -> 0 < k ->
  (forall o, In o outputs -> a o <= k * b o) -> (forall o, In o outputs -> b o <= k * a o) -> In s outputs ->
  a s / rsum outputs a <= k ^ 2 * (b s / rsum outputs b).
Proof.
  intros Pa Pb K A B Hs.
  assert (Sum : forall f : O -> R, (forall o, In o outputs -> 0 < f o) -> 0 < rsum outputs f).
  { intros f. clear - Hs. induction outputs as [|o l IH]; [destruct Hs|]. intro P. cbn [rsum].
    apply Rplus_lt_le_0_compat; [apply P; now left|]. apply rsum_nonneg. intros. left. apply P. now right. }
  pose proof (Sum a Pa) as Sa. pose proof (Sum b Pb) as Sb. pose proof (A s Hs) as As. pose proof (Pb s Hs) as Ps.
  assert (T : rsum outputs b <= k * rsum outputs a) by (rewrite <- rsum_scale; now apply rsum_le).
  apply Rmult_le_reg_r with (rsum outputs a); [assumption|]. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  apply Rle_trans with (1 := As).
  replace (k ^ 2 * (b s / rsum outputs b) * rsum outputs a) with (k * (b s * (k * rsum outputs a / rsum outputs b)))
    by (unfold Rdiv; ring).
  apply Rmult_le_compat_l; [lra|]. rewrite <- (Rmult_1_r (b s)) at 1. apply Rmult_le_compat_l; [lra|].
  apply Rmult_le_reg_r with (rsum outputs b); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

(** * Weights *)
Section Weights.
  Context {O : Type}.
  Variables (x floor : R) (base_of : O -> R) (ways : O -> list (Z * steps)).
  Hypothesis x_range : 0 < x < 1.
  Hypothesis floor_pos : 0 < floor.
  Hypothesis base_pos : forall o, 0 < base_of o.
  Hypothesis ways_rise : forall o n s, In (n, s) (ways o) -> in_order 0 0 s.

  Definition length_of (db : list nat) (way : Z * steps) : nat := Z.to_nat (level (fst way) db (snd way)).
  Definition weight_over (db : list nat) (o : O) : R := base_of o * (floor + rsum (ways o) (fun way => x ^ length_of db way)).

  Definition added (db db' : list nat) : Prop := extended db db' \/ extended db' db.

  Lemma length_moves db db' o way : added db db' -> In way (ways o) -> (length_of db' way <= S (length_of db way))%nat.
  Proof.
    intros H Hw. destruct way as [n s]. pose proof (ways_rise o n s Hw) as Rise. unfold length_of. cbn [fst snd].
    assert (A : (Z.abs (level n db' s - level n db s) <= 1)%Z).
    { destruct H as [H|H]; [|rewrite <- Z.abs_opp, Z.opp_sub_distr, Z.add_comm, Z.add_opp_r]; now apply level_extended with (least := 0%nat). }
    lia.
  Qed.

  Lemma sum_nonneg db o : 0 <= rsum (ways o) (fun way => x ^ length_of db way).
  Proof. apply rsum_nonneg. intros. left. apply pow_lt. lra. Qed.

  Lemma over_pos db o : 0 < weight_over db o.
  Proof. pose proof (sum_nonneg db o). pose proof (base_pos o). apply Rmult_lt_0_compat; lra. Qed.

  Theorem over_extended db db' o : added db db' -> weight_over db o <= / x * weight_over db' o.
  Proof.
    intro H. unfold weight_over.
    replace (/ x * (base_of o * (floor + rsum (ways o) (fun way => x ^ length_of db' way))))
      with (base_of o * (/ x * floor + / x * rsum (ways o) (fun way => x ^ length_of db' way))) by ring.
    apply Rmult_le_compat_l; [left; apply base_pos|]. apply Rplus_le_compat.
    - rewrite <- (Rmult_1_l floor) at 1. apply Rmult_le_compat_r; [lra|]. rewrite <- Rinv_1. apply Rinv_le_contravar; lra.
    - rewrite <- rsum_scale. apply rsum_le. intros way Hw.
      apply Rmult_le_reg_l with x; [lra|]. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra.
      change (x * x ^ length_of db way) with (x ^ S (length_of db way)).
      pose proof (length_moves db db' o way H Hw) as L. set (m := length_of db' way) in *.
      replace (S (length_of db way)) with (m + (S (length_of db way) - m))%nat by lia. rewrite pow_add.
      rewrite <- (Rmult_1_r (x ^ m)) at 2. apply Rmult_le_compat_l; [left; apply pow_lt; lra|].
      rewrite <- (pow1 (S (length_of db way) - m)). apply pow_incr. lra.
  Qed.
End Weights.

(** * The checker *)
Open Scope Z_scope.

Definition CAPACITY_BITS := 40.
Definition MOST_SIZES := 256.

Definition bits_of (n : Z) : Z := if 0 <? n then Z.log2 n + 1 else 0.

(** As many records beyond the largest size that x to their number is far below the floor. *)
Definition capacity (weight : Z) (sizes : list Z) (floor : Z) : Z :=
  let wanted := floor + CAPACITY_BITS + bits_of (Z.of_nat (length sizes)) in
  last sizes 0 - (- (25 * wanted * TOTAL)) / (36 * (TOTAL - weight)).

Definition sizes_form (weight : Z) (spacing sizes : list Z) (floor m : Z) : bool :=
  let values := Z.of_nat (length spacing) in
  let count := Z.of_nat (length sizes) in
  let states := capacity weight sizes floor + values in
  (0 <? weight) && (weight <? TOTAL) && (2 <=? values) && forallb (fun d => (0 <? d) && (d <? MOST_SPACING)) spacing
  && (1 <=? count) && (count <=? MOST_SIZES) && rises (-1) sizes && (0 <=? floor) && (floor <=? 900)
  && ((m + 1) * (m + 1) * (states + count + 64) <=? 2 ^ 20) && (floor + m * (24 + 2 * bits_of values) <=? 900)
  && (states * values * count <=? 2 ^ 24).

Definition check_sizes (weight : Z) (spacing sizes : list Z) (floor m per en ed : Z) : bool :=
  sizes_form weight spacing sizes floor m && (0 <=? en) && (0 <? ed) && (1 <=? per)
  && (let p := ratio_below en ed 1 per in TOTAL ^ 2 * (SLACK + 1) * 2 ^ EXP_BITS <=? p * (weight ^ 2 * (SLACK - 1))).

Section Accepted.
  Variables (weight : Z) (spacing sizes : list Z) (floor m per en ed : Z).
  Hypothesis accepted : check_sizes weight spacing sizes floor m per en ed = true.

  Let x := (IZR weight / IZR TOTAL)%R.

  Lemma sizes_facts : 0 < weight < TOTAL /\ 0 <= floor /\ (forall d, 1 <= nth d spacing 1) /\ 0 <= en /\ 0 < ed /\ 1 <= per /\
    TOTAL ^ 2 * (SLACK + 1) * 2 ^ EXP_BITS <= ratio_below en ed 1 per * (weight ^ 2 * (SLACK - 1)).
  Proof.
    pose proof accepted as H. unfold check_sizes in H. rewrite !andb_true_iff in H. destruct H as [[[[Form E] G] J] K].
    assert (Parts : 0 <? weight = true /\ weight <? TOTAL = true /\ 0 <=? floor = true /\
                    forallb (fun d => (0 <? d) && (d <? MOST_SPACING)) spacing = true).
    { unfold sizes_form in Form. rewrite !andb_true_iff in Form. tauto. }
    destruct Parts as (A & B & C & D). rewrite forallb_forall in D.
    apply Z.ltb_lt in A, B, G. apply Z.leb_le in C, E, J, K. repeat split; try assumption; try lia.
    intro d. destruct (nth_in_or_default d spacing 1) as [Hin| ->]; [|lia].
    specialize (D _ Hin). apply andb_true_iff in D as [D _]. apply Z.ltb_lt in D. lia.
  Qed.

  Open Scope R_scope.

  Lemma x_range : 0 < x < 1.
  Proof.
    destruct sizes_facts as ([A B] & _). apply IZR_lt in A, B. unfold x. assert (T : 0 < IZR TOTAL) by (apply IZR_lt; reflexivity). split.
    - apply Rmult_lt_0_compat; [assumption|]. now apply Rinv_0_lt_compat.
    - apply Rmult_lt_reg_r with (IZR TOTAL); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
  Qed.

  Lemma sizes_paid : (1 + slack) / (1 - slack) * / (x ^ 2) <= exp (eps en ed * (1 / IZR per)).
  Proof.
    destruct sizes_facts as ([A B] & _ & _ & He & Hd & Hp & K).
    destruct (ratio_below_sound en ed 1 per He Hd ltac:(lia) ltac:(lia)) as [_ Hexp]. fold (eps en ed) in Hexp.
    assert (W2 : (0 <= weight ^ 2 * (SLACK - 1))%Z) by (apply Z.mul_nonneg_nonneg; [apply Z.pow_nonneg; lia|discriminate]).
    pose proof (ratio_kept _ _ _ _ W2 Hexp K) as G. clear K Hexp W2.
    change 2%Z with (Z.of_nat 2) in G. rewrite !mult_IZR, <- !pow_IZR, plus_IZR, minus_IZR in G. unfold x, slack.
    apply IZR_lt in A. assert (T : 0 < IZR TOTAL) by (apply IZR_lt; reflexivity). assert (Sl : 1 < IZR SLACK) by (apply IZR_lt; reflexivity).
    set (S := IZR SLACK) in *. set (a := IZR weight) in *. set (b := IZR TOTAL) in *. set (e := exp _) in *.
    assert (P : 0 < a ^ 2 * (S - 1)) by (apply Rmult_lt_0_compat; [now apply pow_lt|lra]).
    apply Rmult_le_reg_r with (a ^ 2 * (S - 1)); [assumption|].
    replace ((1 + / S) / (1 - / S) * / ((a / b) ^ 2) * (a ^ 2 * (S - 1))) with (b ^ 2 * (S + 1)); [exact G|].
    field. repeat split; lra.
  Qed.

  (** Outputs are vectors of values, one for each quantile; their ways are those of the sizes, whatever those are. *)
  Variables (outputs : list (list nat)) (ways : list nat -> list (Z * steps)).
  Hypothesis ways_rise : forall o n s, In (n, s) (ways o) -> in_order 0 0 s.

  Definition base_over (o : list nat) : R := base spacing (map (fun t => (0%Z, t)) o).
  Definition floor_over : R := / 2 ^ Z.to_nat floor.
  Definition share_over (db : list nat) (o : list nat) : R :=
    weight_over x floor_over base_over ways db o / rsum outputs (weight_over x floor_over base_over ways db).

  Variables (lot : R) (any : list nat -> R) (drawn : list nat -> list nat -> R).
  Hypothesis lot_range : 0 <= lot <= 1.
  Hypothesis any_nonneg : forall o, 0 <= any o.
  Definition intended_over (db : list nat) (o : list nat) : R := lot * any o + (1 - lot) * share_over db o.
  Hypothesis drawn_near : forall db o, (1 - slack) * intended_over db o <= drawn db o <= (1 + slack) * intended_over db o.

  Lemma weight_over_pos db o : 0 < weight_over x floor_over base_over ways db o.
  Proof.
    destruct sizes_facts as (_ & _ & Sp & _). apply over_pos; [exact x_range| |].
    - unfold floor_over. apply Rinv_0_lt_compat, pow_lt. lra.
    - intro o'. now apply base_pos.
  Qed.

  Lemma one_added : pointwise added (eps en ed * (1 / IZR per)) (Mechanism outputs drawn).
  Proof.
    intros db db' H o Ho. cbn [mass outs] in *. pose proof x_range as X. destruct sizes_facts as (_ & _ & Sp & _).
    assert (X1 : 0 < / x) by (apply Rinv_0_lt_compat; lra).
    assert (X2 : 1 <= / (x ^ 2)).
    { rewrite <- Rinv_1. apply Rinv_le_contravar; [apply pow_lt; lra|]. replace (x ^ 2) with (x * x) by ring. nra. }
    assert (Fl : 0 < floor_over) by (unfold floor_over; apply Rinv_0_lt_compat, pow_lt; lra).
    assert (Move : forall a b, added a b -> forall o, weight_over x floor_over base_over ways a o <= / x * weight_over x floor_over base_over ways b o).
    { intros a b AB o'. apply over_extended; try assumption. intro o''. now apply base_pos. }
    assert (J : share_over db o <= / (x ^ 2) * share_over db' o).
    { unfold share_over. replace (/ (x ^ 2)) with ((/ x) ^ 2) by (field; lra).
      apply shares_move; [intros; apply weight_over_pos|intros; apply weight_over_pos|exact X1| | |exact Ho].
      - intros o' _. now apply Move.
      - intros o' _. apply Move. destruct H; [now right|now left]. }
    assert (S01 : 0 < slack < 1).
    { unfold slack. assert (1 < IZR SLACK) by (apply IZR_lt; reflexivity). split; [apply Rinv_0_lt_compat; lra|].
      rewrite <- Rinv_1. apply Rinv_lt_contravar; lra. }
    assert (I : intended_over db o <= / (x ^ 2) * intended_over db' o).
    { unfold intended_over. rewrite Rmult_plus_distr_l. apply Rplus_le_compat.
      - rewrite <- (Rmult_1_l (lot * any o)) at 1. apply Rmult_le_compat_r; [|exact X2]. apply Rmult_le_pos; [lra|apply any_nonneg].
      - rewrite <- Rmult_assoc, (Rmult_comm (/ _)), Rmult_assoc. apply Rmult_le_compat_l; [lra|exact J]. }
    destruct (drawn_near db o) as [_ U]. destruct (drawn_near db' o) as [D _]. apply Rle_trans with (1 := U).
    assert (N : 0 <= intended_over db' o).
    { unfold intended_over. apply Rplus_le_le_0_compat; [apply Rmult_le_pos; [lra|apply any_nonneg]|]. apply Rmult_le_pos; [lra|].
      unfold share_over, Rdiv. apply Rmult_le_pos; [left; apply weight_over_pos|].
      destruct (Rle_lt_or_eq_dec 0 (rsum outputs (weight_over x floor_over base_over ways db'))) as [Q|Q].
      - apply rsum_nonneg. intros. left. apply weight_over_pos.
      - left. now apply Rinv_0_lt_compat.
      - rewrite <- Q, Rinv_0. lra. }
    apply Rle_trans with ((1 + slack) / (1 - slack) * / (x ^ 2) * ((1 - slack) * intended_over db' o)).
    - replace ((1 + slack) / (1 - slack) * / (x ^ 2) * ((1 - slack) * intended_over db' o))
        with ((1 + slack) * (/ (x ^ 2) * intended_over db' o)) by (field; split; [lra|lra]).
      apply Rmult_le_compat_l; lra.
    - apply Rmult_le_compat; [|apply Rmult_le_pos; lra|exact sizes_paid|exact D].
      apply Rmult_le_pos; [|lra]. unfold Rdiv. apply Rmult_le_pos; [lra|]. left. apply Rinv_0_lt_compat. lra.
  Qed.

  (** A person's records, at most [per] of them, come or go one by one. *)
  Theorem sizes_promise : private (chain added (Z.to_nat per)) (eps en ed) (Mechanism outputs drawn).
  Proof.
    destruct sizes_facts as (_ & _ & _ & _ & _ & Hp & _).
    pose proof (group_privacy _ _ _ (pointwise_private _ _ _ one_added) (Z.to_nat per)) as G.
    replace (INR (Z.to_nat per) * (eps en ed * (1 / IZR per))) with (eps en ed) in G; [exact G|].
    rewrite INR_IZR_INZ, Z2Nat.id by lia. field. apply not_0_IZR. lia.
  Qed.
End Accepted.
