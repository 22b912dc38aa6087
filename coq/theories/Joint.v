(** check_joint of trusted/joint_quantiles.py, and the proof that what it accepts is private: several quantiles of one
    group in one draw.

    A step is a rank k and a value t for it. Behind r records, k - last - 1 places lead to the record r + (k - last - 1),
    or to the nearest one that t allows; each record between is a level. The place of the rank takes one more record of
    the value, or is a level. At the end each record or place that is left is a level.

    level_extended   one record more: the level moves by at most 1
    level_replaced   one record changed: by at most 2
    level_true       it is 0 at the true quantiles
    depth_replaced   while the quantiles stay, the depth moves by at most 1
    depth_last       it is 0 where one changed record can make the quantiles others
    weight_replaced  no weight moves by more than x^2, whatever the spacings
    joint_pointwise  neither does their sum: each output's probability moves by x^4 at most
    joint_promise    for all accepted numbers, whatever is drawn within the slack and by lot, all sets of reports *)
From Coq Require Import ZArith Reals List Bool Lra Lia Psatz Arith.
From Inbounds Require Import Exp Privacy Matrix Kinds Lengths.
Import ListNotations.
Open Scope Z_scope.

Notation steps := (list (Z * nat)).

(** * Levels *)
Section Path.
  Variables (low high : nat -> Z) (records places : Z).

  Definition stop (r gap : Z) (t : nat) : Z := Z.max (low t) (Z.min (r + gap) (high t)).

  Fixpoint level_from (r last : Z) (s : steps) : Z :=
    match s with
    | [] => Z.abs (records - r - (places - last))
    | (k, t) :: s' =>
        let b := stop r (k - last - 1) t in
        let a := Z.min (b + 1) (high t) in
        Z.abs (r + (k - last - 1) - b) + (b + 1 - a) + level_from a k s'
    end.
End Path.

Lemma level_lipschitz low high n N s : (forall t, low t <= high t) ->
  forall r r' last, Z.abs (level_from low high n N r last s - level_from low high n N r' last s) <= Z.abs (r - r').
Proof.
  intro LH. induction s as [|[k t] s IH]; intros r r' last; cbn [level_from]; [lia|].
  specialize (LH t). unfold stop.
  set (b := Z.max (low t) (Z.min (r + (k - last - 1)) (high t))). set (b' := Z.max (low t) (Z.min (r' + (k - last - 1)) (high t))).
  specialize (IH (Z.min (b + 1) (high t)) (Z.min (b' + 1) (high t)) k). lia.
Qed.

Lemma level_nonneg low high n N s : forall r last, (forall t, low t <= high t) -> 0 <= level_from low high n N r last s.
Proof.
  induction s as [|[k t] s IH]; intros r last LH; cbn [level_from]; [lia|]. specialize (IH (Z.min (stop low high r (k - last - 1) t + 1) (high t)) k LH).
  specialize (LH t). unfold stop in *. lia.
Qed.

(** Ranks rise, values do not fall. *)
Fixpoint in_order (last : Z) (least : nat) (s : steps) : Prop :=
  match s with [] => True | (k, t) :: s' => last < k /\ (least <= t)%nat /\ in_order k t s' end.

Section OneMore.
  Variables (low high low' high' : nat -> Z) (records places : Z) (v : nat).
  Hypothesis below_v : forall t, (t < v)%nat -> low' t = low t /\ high' t = high t.
  Hypothesis at_v : low' v = low v /\ high' v = high v + 1.
  Hypothesis above_v : forall t, (v < t)%nat -> low' t = low t + 1 /\ high' t = high t + 1.
  Hypothesis spread : forall t, low t <= high t.
  Hypothesis rising : forall t, (v < t)%nat -> high v <= low t.

  Let before := level_from low high records places.
  Let after := level_from low' high' (records + 1) places.

  Lemma all_above s : forall r last least, (v < least)%nat -> in_order last least s -> after (r + 1) last s = before r last s.
  Proof.
    induction s as [|[k t] s IH]; intros r last least Hv O; unfold after, before; cbn [level_from]; [lia|].
    destruct O as (_ & Ht & O). destruct (above_v t ltac:(lia)) as [A B].
    set (b := stop low high r (k - last - 1) t).
    assert (E : stop low' high' (r + 1) (k - last - 1) t = b + 1) by (unfold b, stop; rewrite A, B; specialize (spread t); lia).
    rewrite E, B. replace (Z.min (b + 1 + 1) (high t + 1)) with (Z.min (b + 1) (high t) + 1) by lia.
    unfold after, before in IH. rewrite (IH (Z.min (b + 1) (high t)) k t); [lia|lia|assumption].
  Qed.

  Lemma all_behind s : forall r last, high v <= r -> in_order last v s -> after (r + 1) last s = before r last s.
  Proof.
    induction s as [|[k t] s IH]; intros r last Hr O; unfold after, before; cbn [level_from]; [lia|].
    destruct O as (Hk & Ht & O). destruct (Nat.eq_dec t v) as [->|Hne].
    - destruct at_v as [A B]. pose proof (spread v) as S.
      assert (E : stop low high r (k - last - 1) v = high v) by (unfold stop; lia).
      assert (E' : stop low' high' (r + 1) (k - last - 1) v = high v + 1) by (unfold stop; rewrite A, B; lia).
      rewrite E, E', B. replace (Z.min (high v + 1 + 1) (high v + 1)) with (high v + 1) by lia.
      replace (Z.min (high v + 1) (high v)) with (high v) by lia.
      unfold after, before in IH. rewrite (IH (high v) k); [lia|lia|assumption].
    - destruct (above_v t ltac:(lia)) as [A B].
      set (b := stop low high r (k - last - 1) t).
      assert (E : stop low' high' (r + 1) (k - last - 1) t = b + 1) by (unfold b, stop; rewrite A, B; specialize (spread t); lia).
      rewrite E, B. replace (Z.min (b + 1 + 1) (high t + 1)) with (Z.min (b + 1) (high t) + 1) by lia.
      pose proof (all_above s (Z.min (b + 1) (high t)) k t ltac:(lia) O) as G. unfold after, before in G. rewrite G. lia.
  Qed.

  Lemma from_v s : forall r last, in_order last v s -> Z.abs (after r last s - before r last s) <= 1.
  Proof.
    induction s as [|[k t] s IH]; intros r last O; unfold after, before; cbn [level_from]; [lia|].
    destruct O as (Hk & Ht & O). destruct (Nat.eq_dec t v) as [->|Hne].
    - destruct at_v as [A B]. pose proof (spread v) as S.
      destruct (Z.lt_ge_cases (stop low high r (k - last - 1) v) (high v)) as [Hlt|Hge].
      + assert (E : stop low' high' r (k - last - 1) v = stop low high r (k - last - 1) v) by (unfold stop in *; rewrite A, B; lia).
        rewrite E, B. set (b := stop low high r (k - last - 1) v) in *.
        replace (Z.min (b + 1) (high v + 1)) with (Z.min (b + 1) (high v)) by lia.
        specialize (IH (Z.min (b + 1) (high v)) k O). unfold after, before in IH. lia.
      + assert (E : stop low high r (k - last - 1) v = high v) by (unfold stop in *; lia).
        assert (E' : stop low' high' r (k - last - 1) v = Z.min (r + (k - last - 1)) (high v + 1)
                     \/ stop low' high' r (k - last - 1) v = high v /\ r + (k - last - 1) <= high v) by (unfold stop in *; rewrite A, B; lia).
        pose proof (all_behind s (high v) k ltac:(lia) O) as G. unfold after, before in G.
        rewrite E, B. replace (Z.min (high v + 1) (high v)) with (high v) by lia.
        set (b' := stop low' high' r (k - last - 1) v) in *.
        assert (R : high v <= b' <= high v + 1) by (unfold b', stop in *; rewrite A, B; lia).
        replace (Z.min (b' + 1) (high v + 1)) with (high v + 1) by lia. rewrite G.
        destruct E' as [E'|[E' F]]; lia.
    - destruct (above_v t ltac:(lia)) as [A B].
      set (b := stop low high (r - 1) (k - last - 1) t).
      assert (E : stop low' high' r (k - last - 1) t = b + 1) by (unfold b, stop; rewrite A, B; specialize (spread t); lia).
      rewrite E, B. replace (Z.min (b + 1 + 1) (high t + 1)) with (Z.min (b + 1) (high t) + 1) by lia.
      pose proof (all_above s (Z.min (b + 1) (high t)) k t ltac:(lia) O) as G. unfold after, before in G. rewrite G.
      pose proof (level_lipschitz low high records places ((k, t) :: s) spread (r - 1) r last) as Lip.
      cbn [level_from] in Lip. fold b in Lip. lia.
  Qed.

  Lemma from_anywhere s : forall r last least, in_order last least s -> Z.abs (after r last s - before r last s) <= 1.
  Proof.
    induction s as [|[k t] s IH]; intros r last least O; [unfold after, before; cbn [level_from]; lia|].
    destruct (le_lt_dec v t) as [Hv|Hv].
    - apply from_v. destruct O as (Hk & _ & O). cbn [in_order]. auto.
    - destruct O as (Hk & Ht & O). unfold after, before. cbn [level_from]. destruct (below_v t Hv) as [A B]. unfold stop. rewrite A, B.
      specialize (IH (Z.min (Z.max (low t) (Z.min (r + (k - last - 1)) (high t)) + 1) (high t)) k t O). unfold after, before in IH. lia.
  Qed.
End OneMore.

Definition F (db : list nat) (t : nat) : Z := Z.of_nat (upto db t).
Definition L (db : list nat) (t : nat) : Z := Z.of_nat (Lengths.below db t).

(** The level of an output in a group, for n places. *)
Definition level (n : Z) (db : list nat) (s : steps) : Z := level_from (L db) (F db) (Z.of_nat (length db)) n 0 0 s.

Lemma low_high db t : L db t <= F db t.
Proof. unfold L, F. destruct (counts_split db t). lia. Qed.

Lemma level_extended n db db' s least : extended db db' -> in_order 0 least s -> Z.abs (level n db' s - level n db s) <= 1.
Proof.
  intros E O.
  assert (C : exists v, forall t, Lengths.below db' t = (Lengths.below db t + (if v <? t then 1 else 0))%nat
                                  /\ upto db' t = (upto db t + (if v <=? t then 1 else 0))%nat).
  { clear O. unfold Lengths.below, upto. induction E as [v l|u l l' E (v & H)].
    - exists v. intro t. cbn [count]. lia.
    - exists v. intro t. specialize (H t). cbn [count]. lia. }
  destruct C as (v & C). unfold level. rewrite (extended_length _ _ E), Nat2Z.inj_add. change (Z.of_nat 1) with 1.
  apply (from_anywhere _ _ _ _ _ _ v) with (least := least); try assumption.
  - intros t Ht. destruct (C t) as [A B]. unfold L, F. rewrite A, B.
    destruct (Nat.ltb_spec v t), (Nat.leb_spec v t); lia.
  - destruct (C v) as [A B]. unfold L, F. rewrite A, B. destruct (Nat.ltb_spec v v), (Nat.leb_spec v v); lia.
  - intros t Ht. destruct (C t) as [A B]. unfold L, F. rewrite A, B. destruct (Nat.ltb_spec v t), (Nat.leb_spec v t); lia.
  - apply low_high.
Qed.

Lemma replaced_extended {P} (db db' : list P) : replaced db db' -> exists db0, extended db0 db /\ extended db0 db'.
Proof.
  induction 1 as [x y l|x l l' H (l0 & A & B)].
  - exists l. split; constructor.
  - exists (x :: l0). split; now constructor.
Qed.

Theorem level_replaced n db db' s least : replaced db db' -> in_order 0 least s -> level n db' s <= level n db s + 2.
Proof.
  intros H O. destruct (replaced_extended _ _ H) as (db0 & A & B).
  pose proof (level_extended n _ _ s least A O). pose proof (level_extended n _ _ s least B O). lia.
Qed.

(** * The true quantiles *)
Definition is_there (db : list nat) (kt : Z * nat) : bool := (L db (snd kt) <? fst kt) && (fst kt <=? F db (snd kt)).
Definition is_true (db : list nat) (s : steps) : bool := forallb (is_there db) s.

Theorem level_true db s least : in_order 0 least s -> is_true db s = true -> level (Z.of_nat (length db)) db s = 0.
Proof.
  unfold level, is_true. generalize (Z.of_nat (length db)). intro N.
  enough (G : forall s last least, in_order last least s -> forallb (is_there db) s = true -> level_from (L db) (F db) N N last last s = 0)
    by (intros; now apply (G s 0 least)).
  clear s least. induction s as [|[k t] s IH]; intros last least O T; cbn [level_from]; [lia|].
  destruct O as (Hk & Ht & O). cbn [forallb] in T. apply andb_true_iff in T as [T1 T2].
  unfold is_there in T1. cbn [fst snd] in T1. apply andb_true_iff in T1 as [A B]. apply Z.ltb_lt in A. apply Z.leb_le in B.
  assert (E : stop (L db) (F db) last (k - last - 1) t = k - 1) by (unfold stop; lia). rewrite E.
  replace (Z.min (k - 1 + 1) (F db t)) with k by lia. rewrite (IH k t O T2). lia.
Qed.

(** How many changes, at least, until the quantile of one rank is another: none does at an end of the values. *)
Definition room (w : nat) (n : Z) (db : list nat) (kt : Z * nat) : Z :=
  let (k, t) := kt in
  Z.min (if (t <? w)%nat then F db t - k + 1 else n + 1) (if (0 <? t)%nat then k - L db t else n + 1).

Definition depth (w : nat) (n : Z) (db : list nat) (s : steps) : Z := fold_right (fun kt d => Z.min (room w n db kt) d) (n + 1) s - 1.

Lemma counts_moved db db' t : replaced db db' -> F db t <= F db' t + 1 /\ L db t <= L db' t + 1 /\ F db' t <= F db t + 1 /\ L db' t <= L db t + 1.
Proof.
  intro H. destruct (count_replaced (fun v => (v <=? t)%nat) db db' H). destruct (count_replaced (fun v => (v <? t)%nat) db db' H).
  unfold F, L, upto, Lengths.below. lia.
Qed.

Theorem depth_replaced w n db db' s : replaced db db' -> depth w n db s <= depth w n db' s + 1.
Proof.
  intro H. unfold depth. induction s as [|[k t] s IH]; cbn [fold_right]; [lia|].
  enough (room w n db (k, t) <= room w n db' (k, t) + 1) by lia.
  destruct (counts_moved db db' t H) as (A & B & C & D). unfold room.
  destruct (t <? w)%nat, (0 <? t)%nat; lia.
Qed.

Theorem depth_last w db db' s : replaced db db' -> (forall v, In v db' -> v <= w)%nat ->
  (forall k t, In (k, t) s -> 1 <= k <= Z.of_nat (length db) /\ (t <= w)%nat) ->
  is_true db s = true -> is_true db' s = false -> depth w (Z.of_nat (length db)) db s <= 0.
Proof.
  intros H Hw. unfold depth, is_true. induction s as [|[k t] s IH]; intros In_range T T'; cbn [forallb fold_right] in *; [discriminate|].
  apply andb_true_iff in T as [T1 T2]. destruct (is_there db' (k, t)) eqn:E.
  - cbn [andb] in T'. specialize (IH ltac:(intros; apply In_range; now right) T2 T'). lia.
  - clear IH T'. enough (room w (Z.of_nat (length db)) db (k, t) <= 1) by lia.
    destruct (In_range k t (or_introl eq_refl)) as [Hk Ht]. destruct (counts_moved db db' t H) as (A & B & C & D).
    unfold is_there in *. cbn [fst snd] in *. apply andb_true_iff in T1 as [P Q]. apply Z.ltb_lt in P. apply Z.leb_le in Q.
    unfold room. apply andb_false_iff in E as [E|E].
    + apply Z.ltb_ge in E. destruct (Nat.ltb_spec 0 t) as [Z0|Z0]; [lia|]. exfalso. assert (t = 0%nat) by lia. subst t.
      unfold L in E. rewrite below_zero in E. lia.
    + apply Z.leb_gt in E. destruct (Nat.ltb_spec t w) as [Z0|Z0]; [lia|]. exfalso. assert (t = w) by lia. subst t.
      unfold F in E. rewrite upto_all in E by assumption. rewrite <- (replaced_length _ _ H) in E. lia.
Qed.

(** * Weights *)
Open Scope R_scope.

Section Weights.
  Variables (x : R) (spacing : list Z) (w : nat) (n : Z).
  Hypothesis x_range : 0 < x < 1.
  Hypothesis spacing_pos : forall d, (1 <= nth d spacing 1)%Z.

  Fixpoint base_from (t : nat) (s : steps) : R :=
    match s with [] => 1 | (_, t') :: s' => IZR (nth (t' - t) spacing 1%Z) * base_from t' s' end.

  (** The product of the weights of the spacings between one value and the next. *)
  Definition base (s : steps) : R := match s with [] => 1 | (_, t) :: s' => base_from t s' end.

  Lemma base_from_pos s : forall t, 0 < base_from t s.
  Proof.
    induction s as [|[k t'] s IH]; intro t; cbn [base_from]; [lra|].
    apply Rmult_lt_0_compat; [|apply IH]. apply IZR_lt. specialize (spacing_pos (t' - t)). lia.
  Qed.

  Lemma base_pos s : 0 < base s.
  Proof. destruct s as [|[k t] s]; cbn [base]; [lra|apply base_from_pos]. Qed.

  Definition weight_of (db : list nat) (s : steps) : R :=
    base s * (if is_true db s then / (x ^ (2 * Z.to_nat (depth w n db s))) else x ^ Z.to_nat (level n db s)).

  Lemma power_pos m : 0 < x ^ m.
  Proof. apply pow_lt. lra. Qed.

  Lemma power_falls m m' : (m' <= m)%nat -> x ^ m <= x ^ m'.
  Proof.
    intro H. replace m with (m' + (m - m'))%nat by lia. rewrite pow_add. rewrite <- (Rmult_1_r (x ^ m')) at 2.
    apply Rmult_le_compat_l; [left; apply power_pos|]. rewrite <- (pow1 (m - m')). apply pow_incr. lra.
  Qed.

  Lemma inverse_power_one m : 1 <= / (x ^ m).
  Proof. rewrite <- Rinv_1. apply Rinv_le_contravar; [apply power_pos|]. rewrite <- (pow_O x). apply power_falls. lia. Qed.

  Lemma weight_pos db s : 0 < weight_of db s.
  Proof.
    unfold weight_of. apply Rmult_lt_0_compat; [apply base_pos|].
    destruct (is_true db s); [apply Rinv_0_lt_compat|]; apply power_pos.
  Qed.

  (** Where x^m * own <= other is to be shown of own <= x^-m * other. *)
  Lemma by_factor m a b : x ^ m * a <= b -> a <= / (x ^ m) * b.
  Proof.
    intro H. apply Rmult_le_reg_l with (x ^ m); [apply power_pos|]. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l; [exact H|].
    pose proof (power_pos m). lra.
  Qed.

  Definition complete (db : list nat) : Prop := Z.of_nat (length db) = n /\ forall v, In v db -> (v <= w)%nat.

  (** The ranks are among the n records and rise, the values are 0 .. w and do not fall. *)
  Definition sound (s : steps) : Prop :=
    in_order 0 0 s /\ forall k t, In (k, t) s -> (1 <= k <= n)%Z /\ (t <= w)%nat.

  Theorem weight_replaced db db' s : replaced db db' -> replaced db' db -> complete db -> complete db' -> sound s ->
    weight_of db s <= / (x ^ 2) * weight_of db' s.
  Proof.
    intros H H' [Ln Hw] [Ln' Hw'] [O In_range]. apply by_factor. unfold weight_of.
    rewrite (Rmult_comm (x ^ 2)), Rmult_assoc. apply Rmult_le_compat_l; [left; apply base_pos|].
    pose proof (level_replaced n db db' s 0 H O) as Lv. pose proof (level_replaced n db' db s 0 H' O) as Lv'.
    pose proof (depth_replaced w n db db' s H) as D.
    destruct (is_true db s) eqn:T; destruct (is_true db' s) eqn:T'.
    - pose proof (power_pos (2 * Z.to_nat (depth w n db s))) as P. pose proof (power_pos (2 * Z.to_nat (depth w n db' s))) as P'.
      rewrite (Rmult_comm (/ _)). apply Rmult_le_reg_r with (x ^ (2 * Z.to_nat (depth w n db s))); [assumption|].
      rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
      apply Rmult_le_reg_l with (x ^ (2 * Z.to_nat (depth w n db' s))); [assumption|].
      rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. rewrite <- pow_add. apply power_falls. lia.
    - rewrite <- Ln in In_range. pose proof (depth_last w db db' s H Hw' In_range T T') as Z0. rewrite Ln in Z0.
      pose proof (level_true db s 0 O T) as Lt. rewrite Ln in Lt.
      replace (Z.to_nat (depth w n db s)) with 0%nat by lia. rewrite Nat.mul_0_r, pow_O, Rinv_1, Rmult_1_l. apply power_falls. lia.
    - apply Rle_trans with 1; [|apply inverse_power_one]. rewrite <- pow_add. rewrite <- (pow_O x). apply power_falls. lia.
    - rewrite <- pow_add. apply power_falls. lia.
  Qed.

  (** * Probabilities *)
  Variable outputs : list steps.
  Hypothesis outputs_sound : forall s, In s outputs -> sound s.

  Definition total_weight (db : list nat) : R := rsum outputs (weight_of db).
  Definition share (db : list nat) (s : steps) : R := weight_of db s / total_weight db.

  Lemma total_pos db s : In s outputs -> 0 < total_weight db.
  Proof.
    unfold total_weight. induction outputs as [|o l IH]; [intros []|]. intros [->|Hs]; cbn [rsum].
    - apply Rplus_lt_le_0_compat; [apply weight_pos|]. apply rsum_nonneg. intros. left. apply weight_pos.
    - apply Rplus_le_lt_0_compat; [left; apply weight_pos|]. apply IH; [|exact Hs]. intros. apply outputs_sound. now right.
  Qed.

  Theorem joint_pointwise db db' s : replaced db db' -> replaced db' db -> complete db -> complete db' -> In s outputs ->
    share db s <= / (x ^ 4) * share db' s.
  Proof.
    intros H H' G G' Hs. pose proof (total_pos db s Hs) as P. pose proof (total_pos db' s Hs) as P'.
    pose proof (weight_replaced db db' s H H' G G' (outputs_sound s Hs)) as A.
    assert (B : total_weight db' <= / (x ^ 2) * total_weight db).
    { unfold total_weight. rewrite <- rsum_scale. apply rsum_le. intros o Ho. apply weight_replaced; auto. }
    pose proof (power_pos 2) as X2. assert (I2 : 0 < / (x ^ 2)) by now apply Rinv_0_lt_compat.
    replace (/ (x ^ 4)) with (/ (x ^ 2) * / (x ^ 2)) by (rewrite <- Rinv_mult; f_equal; ring).
    unfold share. apply Rmult_le_reg_r with (total_weight db); [assumption|].
    unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    apply Rle_trans with (1 := A).
    replace (/ (x ^ 2) * / (x ^ 2) * (weight_of db' s / total_weight db') * total_weight db)
      with (/ (x ^ 2) * (weight_of db' s * (/ (x ^ 2) * total_weight db / total_weight db'))) by (unfold Rdiv; ring).
    apply Rmult_le_compat_l; [lra|]. rewrite <- (Rmult_1_r (weight_of db' s)) at 1.
    apply Rmult_le_compat_l; [left; apply weight_pos|].
    apply Rmult_le_reg_r with (total_weight db'); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
  Qed.
End Weights.

(** * The checker *)
Open Scope Z_scope.

Definition SLACK := 2 ^ 28.
Definition MOST_SPACING := 2 ^ 24.

Fixpoint rises (last : Z) (ranks : list Z) : bool :=
  match ranks with [] => true | k :: ranks' => (last <? k) && rises k ranks' end.

Definition joint_form (weight : Z) (spacing ranks : list Z) (size : Z) : bool :=
  let values := Z.of_nat (length spacing) in
  let m := Z.of_nat (length ranks) in
  (0 <? weight) && (weight <? TOTAL) && (2 <=? values) && forallb (fun d => (0 <? d) && (d <? MOST_SPACING)) spacing
  && (1 <=? m) && rises 0 ranks && forallb (fun k => k <=? size) ranks
  && ((m + 1) * (m + 1) * (size + values + 64) <=? 2 ^ 20) && ((size + values) * values <=? 2 ^ 24)
  && (m * (24 + 2 * (Z.log2 values + 1)) <=? 900).

Definition check_joint (weight : Z) (spacing ranks : list Z) (size per en ed : Z) : bool :=
  joint_form weight spacing ranks size && (0 <=? en) && (0 <? ed) && (1 <=? per)
  && (let p := ratio_below en ed 1 per in TOTAL ^ 4 * (SLACK + 1) * 2 ^ EXP_BITS <=? p * (weight ^ 4 * (SLACK - 1))).

Section Accepted.
  Variables (weight : Z) (spacing ranks : list Z) (size per en ed : Z).
  Hypothesis accepted : check_joint weight spacing ranks size per en ed = true.

  Let x := (IZR weight / IZR TOTAL)%R.
  Let w := (length spacing - 1)%nat.

  Lemma joint_facts : 0 < weight < TOTAL /\ (forall d, 1 <= nth d spacing 1) /\ 0 <= en /\ 0 < ed /\ 1 <= per /\
    TOTAL ^ 4 * (SLACK + 1) * 2 ^ EXP_BITS <= ratio_below en ed 1 per * (weight ^ 4 * (SLACK - 1)).
  Proof.
    pose proof accepted as H. unfold check_joint in H. rewrite !andb_true_iff in H. destruct H as [[[[Form E] G] J] K].
    assert (Parts : 0 <? weight = true /\ weight <? TOTAL = true /\
                    forallb (fun d => (0 <? d) && (d <? MOST_SPACING)) spacing = true).
    { unfold joint_form in Form. rewrite !andb_true_iff in Form. tauto. }
    destruct Parts as (A & B & D).
    rewrite forallb_forall in D. apply Z.ltb_lt in A, B, G. apply Z.leb_le in E, J, K. repeat split; try assumption; try lia.
    intro d. destruct (nth_in_or_default d spacing 1) as [Hin| ->]; [|lia].
    specialize (D _ Hin). apply andb_true_iff in D as [D _]. apply Z.ltb_lt in D. lia.
  Qed.

  Open Scope R_scope.

  Lemma x_in_range : 0 < x < 1.
  Proof.
    destruct joint_facts as ([A B] & _). apply IZR_lt in A, B. unfold x. assert (T : 0 < IZR TOTAL) by (apply IZR_lt; reflexivity). split.
    - apply Rmult_lt_0_compat; [assumption|]. now apply Rinv_0_lt_compat.
    - apply Rmult_lt_reg_r with (IZR TOTAL); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
  Qed.

  Definition slack : R := / IZR SLACK.

  Lemma paid : (1 + slack) / (1 - slack) * / (x ^ 4) <= exp (eps en ed * (1 / IZR per)).
  Proof.
    destruct joint_facts as ([A B] & _ & He & Hd & Hp & K).
    destruct (ratio_below_sound en ed 1 per He Hd ltac:(lia) ltac:(lia)) as [_ Hexp]. fold (eps en ed) in Hexp.
    assert (W4 : (0 <= weight ^ 4 * (SLACK - 1))%Z) by (apply Z.mul_nonneg_nonneg; [apply Z.pow_nonneg; lia|discriminate]).
    pose proof (ratio_kept _ _ _ _ W4 Hexp K) as G. clear K Hexp W4.
    change 4%Z with (Z.of_nat 4) in G. rewrite !mult_IZR, <- !pow_IZR, plus_IZR, minus_IZR in G. unfold x, slack.
    apply IZR_lt in A. assert (T : 0 < IZR TOTAL) by (apply IZR_lt; reflexivity). assert (Sl : 1 < IZR SLACK) by (apply IZR_lt; reflexivity).
    set (S := IZR SLACK) in *. set (a := IZR weight) in *. set (b := IZR TOTAL) in *. set (e := exp _) in *.
    assert (P : 0 < a ^ 4 * (S - 1)) by (apply Rmult_lt_0_compat; [now apply pow_lt|lra]).
    apply Rmult_le_reg_r with (a ^ 4 * (S - 1)); [assumption|].
    replace ((1 + / S) / (1 - / S) * / ((a / b) ^ 4) * (a ^ 4 * (S - 1))) with (b ^ 4 * (S + 1)); [exact G|].
    field. repeat split; lra.
  Qed.

  Variable outputs : list steps.
  Hypothesis outputs_sound : forall s, In s outputs -> sound w size s.

  (** Drawn by lot, whatever the records are, or by the shares; the sampler's rounding moves each probability within the slack. *)
  Variables (lot : R) (any : steps -> R) (drawn : list nat -> steps -> R).
  Hypothesis lot_range : 0 <= lot <= 1.
  Hypothesis any_nonneg : forall s, 0 <= any s.
  Definition intended (db : list nat) (s : steps) : R := lot * any s + (1 - lot) * share x spacing w size outputs db s.
  Hypothesis drawn_near : forall db s, (1 - slack) * intended db s <= drawn db s <= (1 + slack) * intended db s.

  Definition joint_near (db db' : list nat) : Prop := replaced db db' /\ complete w size db /\ complete w size db'.

  Lemma replaced_back {P} (db db' : list P) : replaced db db' -> replaced db' db.
  Proof. induction 1; now constructor. Qed.

  Lemma one_record : pointwise joint_near (eps en ed * (1 / IZR per)) (Mechanism outputs drawn).
  Proof.
    intros db db' (H & G & G') s Hs. cbn [mass outs] in *. pose proof x_in_range as X. destruct joint_facts as (_ & Sp & _).
    pose proof (joint_pointwise x spacing w size X Sp outputs outputs_sound db db' s H (replaced_back _ _ H) G G' Hs) as J.
    assert (S01 : 0 < slack < 1).
    { unfold slack. assert (1 < IZR SLACK) by (apply IZR_lt; reflexivity). split; [apply Rinv_0_lt_compat; lra|].
      rewrite <- Rinv_1. apply Rinv_lt_contravar; lra. }
    assert (X4 : 1 <= / (x ^ 4)) by now apply inverse_power_one.
    assert (I : intended db s <= / (x ^ 4) * intended db' s).
    { unfold intended. rewrite Rmult_plus_distr_l. apply Rplus_le_compat.
      - rewrite <- (Rmult_1_l (lot * any s)) at 1. apply Rmult_le_compat_r; [|exact X4]. apply Rmult_le_pos; [lra|apply any_nonneg].
      - rewrite <- Rmult_assoc, (Rmult_comm (/ _)), Rmult_assoc. apply Rmult_le_compat_l; [lra|exact J]. }
    destruct (drawn_near db s) as [_ U]. destruct (drawn_near db' s) as [D _].
    apply Rle_trans with (1 := U).
    assert (N : 0 <= intended db' s).
    { unfold intended. apply Rplus_le_le_0_compat; [apply Rmult_le_pos; [lra|apply any_nonneg]|]. apply Rmult_le_pos; [lra|].
      unfold share, Rdiv. apply Rmult_le_pos; [left; now apply weight_pos|]. left. apply Rinv_0_lt_compat.
      apply (total_pos x spacing w size X Sp outputs outputs_sound db' s Hs). }
    apply Rle_trans with ((1 + slack) / (1 - slack) * / (x ^ 4) * ((1 - slack) * intended db' s)).
    - replace ((1 + slack) / (1 - slack) * / (x ^ 4) * ((1 - slack) * intended db' s))
        with ((1 + slack) * (/ (x ^ 4) * intended db' s)) by (field; split; [pose proof (power_pos x X 4); lra|lra]).
      apply Rmult_le_compat_l; lra.
    - apply Rmult_le_compat; [|apply Rmult_le_pos; lra|exact paid|exact D].
      apply Rmult_le_pos; [|lra]. unfold Rdiv. apply Rmult_le_pos; [lra|]. left. apply Rinv_0_lt_compat. lra.
  Qed.

  (** A person's records, at most [per] of them, become others one by one. *)
  Theorem joint_promise : private (chain joint_near (Z.to_nat per)) (eps en ed) (Mechanism outputs drawn).
  Proof.
    destruct joint_facts as (_ & _ & _ & _ & Hp & _).
    pose proof (group_privacy _ _ _ (pointwise_private _ _ _ one_record) (Z.to_nat per)) as G.
    replace (INR (Z.to_nat per) * (eps en ed * (1 / IZR per))) with (eps en ed) in G; [exact G|].
    rewrite INR_IZR_INZ, Z2Nat.id by lia. field. apply not_0_IZR. lia.
  Qed.
End Accepted.
