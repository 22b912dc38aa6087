(** check_sides of trusted/sided_scores.py, and the proof that what it accepts is private for a rank of a public size.

    Each side of the answer has a first level, a stride, and a spread with its level. When a record moves up, what is below the answer gets
    no nearer and what is above gets no farther: weights fall by at most one factor and rise by at most another.

    moved_pairs       the factors of a record moved up, by the depth
    sides_promise     for every accepted table, neighbouring groups and every set of reports, as the sampler draws them *)
From Coq Require Import ZArith Reals List Bool Lra Lia Psatz Arith.
From Inbounds Require Import Exp Privacy Matrix Kinds Integral Scores Tight Depth ScoreCheck Lengths.
Import ListNotations.
Open Scope R_scope.

Lemma moves_back B A a b : moves_within B A a b -> moves_within A B b a.
Proof. unfold moves_within. tauto. Qed.

(** * A record moved up *)
Open Scope nat_scope.

Definition moved_up (db db' : list nat) : Prop := forall t,
  (upto db' t <= upto db t <= upto db' t + 1) /\ (Lengths.below db' t <= Lengths.below db t <= Lengths.below db' t + 1).

Lemma replaced_moves db db' : replaced db db' -> moved_up db db' \/ moved_up db' db.
Proof.
  induction 1 as [x y l|x l l' H [IH|IH]].
  - destruct (le_lt_dec x y) as [E|E]; [left|right]; intro t; unfold upto, Lengths.below; cbn [count];
      destruct (Nat.leb_spec x t), (Nat.leb_spec y t), (Nat.ltb_spec x t), (Nat.ltb_spec y t); lia.
  - left. intro t. specialize (IH t). unfold upto, Lengths.below in *. cbn [count]. destruct (x <=? t), (x <? t); lia.
  - right. intro t. specialize (IH t). unfold upto, Lengths.below in *. cbn [count]. destruct (x <=? t), (x <? t); lia.
Qed.

(** m is the k-th smallest. *)
Definition is_rank (db : list nat) (k m : nat) : Prop := Lengths.below db m < k <= upto db m.

Lemma rank_zero db k m t : is_rank db k m -> (rank_length k db t = 0 <-> t = m).
Proof.
  unfold is_rank, rank_length. intro E. split.
  - intro Z. destruct (lt_eq_lt_dec t m) as [[Hlt| ->]|Hgt]; [|reflexivity|].
    + pose proof (below_le db t m Hlt). lia.
    + pose proof (below_le db m t Hgt). lia.
  - intros ->. lia.
Qed.

Lemma upto_split db t : Lengths.below db t <= upto db t.
Proof. destruct t; [rewrite below_zero; lia|]. pose proof (below_upto db t). unfold upto, Lengths.below in *.
  clear. induction db as [|v db IH]; cbn [count]; [lia|]. destruct (Nat.ltb_spec v (S t)), (Nat.leb_spec v (S t)); lia. Qed.

Lemma rank_sides db k m s : is_rank db k m -> (upto db s < k <-> s < m) /\ (k <= Lengths.below db s <-> m < s).
Proof.
  unfold is_rank. intro E. pose proof (upto_split db s). split; split; intro H'.
  - destruct (lt_eq_lt_dec s m) as [[Hlt| ->]|Hgt]; [assumption|lia|]. pose proof (below_le db m s Hgt). lia.
  - pose proof (below_le db s m H'). lia.
  - destruct (lt_eq_lt_dec m s) as [[Hlt| ->]|Hgt]; [assumption|lia|]. pose proof (below_le db s m Hgt). lia.
  - pose proof (below_le db m s H'). lia.
Qed.

Lemma rank_rises db db' k m m' : moved_up db db' -> is_rank db k m -> is_rank db' k m' -> m <= m'.
Proof.
  intros U R R'. destruct (le_lt_dec m m') as [|L]; [assumption|].
  apply (proj1 (rank_sides db k m m' R)) in L. specialize (U m'). unfold is_rank in R'. lia.
Qed.

Lemma in_lengths w k db n : In n (rank_lengths w k db) <-> exists t, t <= w /\ rank_length k db t = n.
Proof.
  unfold rank_lengths. rewrite in_map_iff. split; intros (t & H & E); exists t.
  - apply in_seq in E. split; [lia|assumption].
  - split; [assumption|]. apply in_seq. lia.
Qed.

Lemma depth_moves w k db db' m m' e e' : replaced db db' -> is_rank db k m -> is_rank db' k m' -> m <= w -> m' <= w ->
  has_depth (rank_lengths w k db) e -> has_depth (rank_lengths w k db') e' ->
  (m = m' -> e <= e' + 1 /\ e' <= e + 1) /\ (m <> m' -> e = 0 /\ e' = 0).
Proof.
  intros H R R' Hm Hm' [D1 D2] [D1' D2'].
  assert (N : forall t, rank_length k db t <= rank_length k db' t + 1 /\ rank_length k db' t <= rank_length k db t + 1).
  { intro t. pose proof (rank_near db db' k t H) as Nt. unfold lengths_near in Nt. cbn [fst snd] in Nt. lia. }
  apply in_lengths in D1 as (t & Ht & Et). apply in_lengths in D1' as (t' & Ht' & Et').
  split.
  - intros <-. split.
    + assert (Z : rank_length k db t' <> 0) by (rewrite (rank_zero db k m t' R); rewrite <- (rank_zero db' k m t' R'); lia).
      specialize (D2 (rank_length k db t')). rewrite in_lengths in D2. specialize (D2 ltac:(exists t'; auto) Z). specialize (N t'). lia.
    + assert (Z : rank_length k db' t <> 0) by (rewrite (rank_zero db' k m t R'); rewrite <- (rank_zero db k m t R); lia).
      specialize (D2' (rank_length k db' t)). rewrite in_lengths in D2'. specialize (D2' ltac:(exists t; auto) Z). specialize (N t). lia.
  - intro Ne.
    assert (Z' : rank_length k db' m <> 0) by (rewrite (rank_zero db' k m' m R'); assumption).
    assert (Z : rank_length k db m' <> 0) by (rewrite (rank_zero db k m m' R); congruence).
    assert (O : rank_length k db m = 0) by (now apply (rank_zero db k m m R)).
    assert (O' : rank_length k db' m' = 0) by (now apply (rank_zero db' k m' m' R')).
    specialize (D2 (rank_length k db m')). rewrite in_lengths in D2. specialize (D2 ltac:(exists m'; auto) Z).
    specialize (D2' (rank_length k db' m)). rewrite in_lengths in D2'. specialize (D2' ltac:(exists m; auto) Z').
    pose proof (N m). pose proof (N m'). lia.
Qed.

(** Products of natural numbers as numbers of their own, which are not negative. *)
Ltac products := repeat match goal with |- context [(?x * ?y)%nat] => generalize (x * y)%nat; intro end.

(** * The checker *)
Open Scope Z_scope.

Record side := Side { first_level : nat; stride_of : nat; spread_of : nat; near_level : nat }.

(** The largest ratio of weights one record apart, the answer's own included, times 2^62 and rounded up. *)
Definition pace (table : list Z) (s : side) : Z :=
  Z.max (largest_step table (stride_of s)) (quotient_above (TOTAL * TOTAL) (table_at table (first_level s))).

(** The depth stays or the answer is another; the depth rises; it falls: of a record moved up, over 2^124. *)
Definition sided_bounds (table : list Z) (b a : side) (d : nat) : list Z :=
  [pace table b * pace table a;
   largest_step table (stride_of b + d) * largest_step table (stride_of a - d);
   largest_step table (stride_of b - d) * largest_step table (stride_of a + d)].

Definition side_ok (s : side) : bool :=
  (1 <=? first_level s)%nat && (1 <=? stride_of s)%nat && (Z.of_nat (first_level s) <? MOST_OUTPUTS)
  && (Z.of_nat (stride_of s) <? MOST_OUTPUTS) && (Z.of_nat (spread_of s) <? MOST_OUTPUTS) && (near_level s <=? first_level s)%nat.

Definition check_sides (table : list Z) (b a : side) (d : nat) (width en ed : Z) : bool :=
  (0 <=? en) && (0 <? ed) && (2 <=? length table)%nat
  && (nth 0 table 0 =? TOTAL) && (nth 1 table 0 <? TOTAL) && falling table
  && side_ok b && side_ok a && (d <=? stride_of b)%nat && (d <=? stride_of a)%nat
  && (1 <=? width) && (width <? MOST_OUTPUTS)
  && (let p := ratio_below en ed 1 1 in
      let m := width + 1 in
      forallb (fun high => Z.shiftl (high * (TOTAL + m)) EXP_BITS <=? p * (TOTAL * TOTAL * (TOTAL - m)))
              (sided_bounds table b a d)).

Section Accepted.
  Variables (table : list Z) (b a : side) (d : nat) (width en ed : Z).
  Hypothesis accepted : check_sides table b a d width en ed = true.
  Let T := chances table.

  Lemma facts : (0 <= en)%Z /\ (0 < ed)%Z /\ (2 <= length table)%nat /\ nth 0 table 0%Z = TOTAL /\
    falling table = true /\ (1 <= first_level b)%nat /\ (1 <= first_level a)%nat /\
    (near_level b <= first_level b)%nat /\ (near_level a <= first_level a)%nat /\ (d <= stride_of b)%nat /\ (d <= stride_of a)%nat /\
    (1 <= width < MOST_OUTPUTS)%Z /\
    (forall high, In high (sided_bounds table b a d) ->
       high * (TOTAL + (width + 1)) * 2 ^ EXP_BITS <= ratio_below en ed 1 1 * (TOTAL * TOTAL * (TOTAL - (width + 1))))%Z.
  Proof.
    pose proof accepted as H. unfold check_sides, side_ok in H. rewrite !andb_true_iff in H.
    destruct H as [[[[[[[[[[[[A B] C] D] E] F] [[[[[G1 _] _] _] _] G3]] [[[[[G2 _] _] _] _] G4]] N] N'] W1] W2] K].
    apply Z.leb_le in A, W1. apply Nat.leb_le in C, G1, G2, G3, G4, N, N'. apply Z.ltb_lt in B, W2. apply Z.eqb_eq in D.
    rewrite forallb_forall in K. repeat split; auto.
    intros hl Hl. specialize (K hl Hl). apply Z.leb_le in K. now rewrite Z.shiftl_mul_pow2 in K by easy.
  Qed.

  Lemma table_pos l : (1 <= table_at table l)%Z.
  Proof. destruct facts as (_ & _ & L & _ & F & _). apply (falling_spec table F). lia. Qed.

  Lemma table_falls l : (table_at table (S l) <= table_at table l)%Z.
  Proof.
    destruct facts as (_ & _ & L & _ & F & _). destruct (falling_spec table F) as [_ Q]. unfold table_at.
    destruct (le_lt_dec (length table - 1) l) as [Hl|Hl].
    - replace (Nat.min (S l) (length table - 1)) with (Nat.min l (length table - 1)) by lia. lia.
    - replace (Nat.min l (length table - 1)) with l by lia. replace (Nat.min (S l) (length table - 1)) with (S l) by lia. apply Q. lia.
  Qed.

  Open Scope R_scope.

  Lemma steps_of by_ : (TOTAL <= largest_step table by_)%Z /\
    forall i, (1 <= i)%nat -> T i <= IZR (largest_step table by_) / IZR TOTAL * T (i + by_).
  Proof. destruct facts as (_ & _ & L & _ & F & _). exact (table_steps table by_ L F). Qed.

  Lemma T_zero : T 0 = 1.
  Proof.
    destruct facts as (_ & _ & L & Z0 & _). unfold T, chances, table_at.
    replace (Nat.min 0 (length table - 1)) with 0%nat by lia. rewrite Z0. pose proof T_pos'. field. lra.
  Qed.

  Lemma T_positive l : 0 < T l.
  Proof. pose proof (table_pos l). apply Rmult_lt_0_compat; [apply IZR_pos; lia|apply Rinv_0_lt_compat, T_pos']. Qed.

  Lemma T_falling x y : (x <= y)%nat -> T y <= T x.
  Proof.
    induction 1 as [|y H IH]; [lra|]. apply Rle_trans with (2 := IH). pose proof (table_falls y).
    apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, T_pos'|now apply IZR_le].
  Qed.

  Lemma T_unit l : in_unit (T l).
  Proof. pose proof (T_positive l). pose proof (T_falling 0 l ltac:(lia)) as Q. rewrite T_zero in Q. unfold in_unit. lra. Qed.

  Definition factor (z : Z) : R := IZR z / IZR TOTAL.

  Lemma factor_one z : (TOTAL <= z)%Z -> 1 <= factor z.
  Proof. apply over_total. Qed.

  Lemma factor_le z z' : (z <= z')%Z -> factor z <= factor z'.
  Proof. intro H. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, T_pos'|now apply IZR_le]. Qed.

  (** From level x on, by so many levels at most, and not into 0. *)
  Lemma falls_by by_ r x y : factor (largest_step table by_) <= r -> (1 <= x)%nat -> (y <= x + by_)%nat -> T x <= r * T y.
  Proof.
    intros Hr Hx Hy. destruct (steps_of by_) as [_ S]. specialize (S x Hx).
    pose proof (T_falling y (x + by_) Hy). pose proof (T_positive (x + by_)). pose proof (T_positive y). unfold factor in Hr.
    assert (0 <= IZR (largest_step table by_) / IZR TOTAL) by (pose proof (factor_one _ (proj1 (steps_of by_))); unfold factor in *; lra).
    nra.
  Qed.

  Lemma keeps r x y : 1 <= r -> (y <= x)%nat -> T x <= r * T y.
  Proof. intros Hr H. pose proof (T_falling y x H). pose proof (T_positive y). nra. Qed.

  Lemma pace_step s : factor (largest_step table (stride_of s)) <= factor (pace table s).
  Proof. apply factor_le. unfold pace. lia. Qed.

  Lemma pace_one s : 1 <= factor (pace table s).
  Proof. apply factor_one. unfold pace. pose proof (proj1 (steps_of (stride_of s))). lia. Qed.

  (** Between the answer, or anything, and a value that is one record away. *)
  Lemma pace_first s x : T x <= factor (pace table s) * T (first_level s).
  Proof.
    apply Rle_trans with 1; [apply T_unit|].
    pose proof (table_pos (first_level s)) as P. pose proof T_pos' as HT.
    destruct (quotient_above_spec (TOTAL * TOTAL) (table_at table (first_level s)) ltac:(lia)) as [Q _].
    assert (Z : (TOTAL * TOTAL <= pace table s * table_at table (first_level s))%Z) by (unfold pace; nia).
    apply IZR_le in Z. rewrite !mult_IZR in Z. unfold factor, T, chances.
    apply Rmult_le_reg_r with (IZR TOTAL * IZR TOTAL); [nra|].
    replace (IZR (pace table s) / IZR TOTAL * (IZR (table_at table (first_level s)) / IZR TOTAL) * (IZR TOTAL * IZR TOTAL))
      with (IZR (pace table s) * IZR (table_at table (first_level s))) by (field; lra). lra.
  Qed.

  (** Between anything and a value within the spread, whose level is no farther. *)
  Lemma pace_near s x : (near_level s <= first_level s)%nat -> T x <= factor (pace table s) * T (near_level s).
  Proof.
    intro H. pose proof (pace_first s x). pose proof (pace_one s). pose proof (T_falling _ _ H). nra.
  Qed.

  (** * What is allowed *)
  Definition slack : R := INR (Z.to_nat (width + 1)) / IZR TOTAL.
  Definition allowed : R := exp (eps en ed) * (1 - slack) / (1 + slack).

  Lemma slack_small : 0 <= slack < 1.
  Proof.
    destruct facts as (_ & _ & _ & _ & _ & _ & _ & _ & _ & _ & _ & W & _). pose proof T_pos' as HT. unfold slack. rewrite INR_IZR_INZ, Z2Nat.id by lia.
    split; [apply Rmult_le_pos; [apply IZR_le; lia|left; now apply Rinv_0_lt_compat]|].
    apply Rmult_lt_reg_r with (IZR TOTAL); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
    rewrite Rmult_1_r, Rmult_1_l. apply IZR_lt. unfold MOST_OUTPUTS, TOTAL in *. lia.
  Qed.

  Lemma paid x y : In (x * y)%Z (sided_bounds table b a d) -> factor x * factor y <= allowed.
  Proof.
    intro Hin. destruct facts as (He & Hed & _ & _ & _ & _ & _ & _ & _ & _ & _ & W & Acc). specialize (Acc _ Hin).
    destruct (ratio_below_sound en ed 1 1 He Hed ltac:(lia) ltac:(lia)) as [_ Hexp].
    replace (IZR en / IZR ed * (1 / 1)) with (eps en ed) in Hexp by (unfold eps; field; apply not_0_IZR; lia).
    pose proof slack_small as Sl. pose proof T_pos' as HT.
    assert (Em : slack * IZR TOTAL = IZR (width + 1)) by (unfold slack; rewrite INR_IZR_INZ, Z2Nat.id by lia; field; lra).
    assert (G : IZR (x * y * (TOTAL + (width + 1))) <= exp (eps en ed) * IZR (TOTAL * TOTAL * (TOTAL - (width + 1)))).
    { apply (ratio_kept (ratio_below en ed 1 1)); [|assumption|assumption].
      apply le_IZR. rewrite !mult_IZR, minus_IZR, <- Em. repeat apply Rmult_le_pos; try lra. nra. }
    rewrite !mult_IZR, plus_IZR, minus_IZR, <- Em in G. unfold allowed, factor.
    apply Rmult_le_reg_r with (IZR TOTAL * IZR TOTAL * IZR TOTAL * (1 + slack)); [repeat apply Rmult_lt_0_compat; lra|].
    replace (exp (eps en ed) * (1 - slack) / (1 + slack) * (IZR TOTAL * IZR TOTAL * IZR TOTAL * (1 + slack)))
      with (exp (eps en ed) * (IZR TOTAL * IZR TOTAL * (IZR TOTAL - slack * IZR TOTAL))) by (field; lra).
    replace (IZR x / IZR TOTAL * (IZR y / IZR TOTAL) * (IZR TOTAL * IZR TOTAL * IZR TOTAL * (1 + slack)))
      with (IZR x * IZR y * (IZR TOTAL + slack * IZR TOTAL)) by (field; lra).
    exact G.
  Qed.

  (** * Levels of a group: k the rank, e its depth *)
  Definition sided_level (k e : nat) (db : list nat) (t : nat) : nat :=
    (let u := upto db (t + spread_of b) in
     let v := Lengths.below db (t - spread_of a) in
     if u <? k then first_level b + stride_of b * (k - u - 1) + d * e
     else if k <=? v then first_level a + stride_of a * (v - k) + d * e
     else if upto db t <? k then near_level b
     else if k <=? Lengths.below db t then near_level a
     else 0)%nat.

  (** The factors by which weights fall and rise when a record moves up. *)
  Lemma moved_pairs w k db db' m m' e e' : replaced db db' \/ replaced db' db -> moved_up db db' ->
    is_rank db k m -> is_rank db' k m' -> (m <= w)%nat -> (m' <= w)%nat ->
    has_depth (rank_lengths w k db) e -> has_depth (rank_lengths w k db') e' ->
    exists B A, 1 <= B /\ 1 <= A /\ B * A <= allowed /\
      forall t, moves_within B A (T (sided_level k e db t)) (T (sided_level k e' db' t)).
  Proof.
    intros H U R R' Hm Hm' D D'.
    assert (Dm : (m = m' -> e <= e' + 1 /\ e' <= e + 1)%nat /\ (m <> m' -> e = 0 /\ e' = 0)%nat).
    { destruct H as [H|H]; [now apply (depth_moves w k db db')|].
      destruct (depth_moves w k db' db m' m e' e H R' R Hm' Hm D' D) as [X Y].
      split; intro Q; [destruct (X (eq_sym Q))|destruct (Y (not_eq_sym Q))]; lia. }
    pose proof (rank_rises db db' k m m' U R R') as Up.
    destruct facts as (_ & _ & _ & _ & _ & Fb & Fa & Nb & Na & Db & Da & _).
    assert (Sides : forall t,
      let u := upto db (t + spread_of b) in let u' := upto db' (t + spread_of b) in
      let v := Lengths.below db (t - spread_of a) in let v' := Lengths.below db' (t - spread_of a) in
      (u' <= u <= u' + 1 /\ v' <= v <= v' + 1 /\ (u < k <-> t + spread_of b < m) /\ (u' < k <-> t + spread_of b < m')
       /\ (k <= v <-> m < t - spread_of a) /\ (k <= v' <-> m' < t - spread_of a) /\ v <= u)%nat).
    { intro t. cbn zeta. pose proof (U (t + spread_of b)%nat) as [U1 _]. pose proof (U (t - spread_of a)%nat) as [_ U2].
      pose proof (rank_sides db k m (t + spread_of b) R) as [A1 _]. pose proof (rank_sides db' k m' (t + spread_of b) R') as [A2 _].
      pose proof (rank_sides db k m (t - spread_of a) R) as [_ A3]. pose proof (rank_sides db' k m' (t - spread_of a) R') as [_ A4].
      assert (V : (Lengths.below db (t - spread_of a) <= upto db (t + spread_of b))%nat).
      { destruct (Nat.eq_dec (t - spread_of a) (t + spread_of b)) as [->|]; [apply upto_split|].
        pose proof (below_le db (t - spread_of a) (t + spread_of b) ltac:(lia)).
        pose proof (upto_split db (t - spread_of a)). pose proof (upto_split db (t + spread_of b)). lia. }
      tauto. }
    assert (Own : forall t,
      let n := upto db t in let n' := upto db' t in let o := Lengths.below db t in let o' := Lengths.below db' t in
      (n' <= n /\ o' <= o /\ o <= n /\ o' <= n' /\ (n < k <-> t < m) /\ (n' < k <-> t < m') /\ (k <= o <-> m < t) /\ (k <= o' <-> m' < t))%nat).
    { intro t. cbn zeta. pose proof (U t) as [U1 U2]. pose proof (upto_split db t). pose proof (upto_split db' t).
      pose proof (rank_sides db k m t R) as [A1 A2]. pose proof (rank_sides db' k m' t R') as [A3 A4]. repeat split; tauto || lia. }
    assert (Same : (e = e')%nat -> (m = m')%nat \/ (e = 0 /\ e' = 0)%nat -> exists B A, 1 <= B /\ 1 <= A /\ B * A <= allowed /\
      forall t, moves_within B A (T (sided_level k e db t)) (T (sided_level k e' db' t))).
    { intros <- Which. exists (factor (pace table b)), (factor (pace table a)).
      split; [apply pace_one|]. split; [apply pace_one|]. split; [apply paid; cbn; tauto|].
      intro t. specialize (Sides t). specialize (Own t). cbn zeta in Sides, Own. unfold sided_level. cbn zeta.
      set (u := upto db (t + spread_of b)) in *. set (u' := upto db' (t + spread_of b)) in *.
      set (v := Lengths.below db (t - spread_of a)) in *. set (v' := Lengths.below db' (t - spread_of a)) in *.
      set (n := upto db t) in *. set (n' := upto db' t) in *.
      set (o := Lengths.below db t) in *. set (o' := Lengths.below db' t) in *.
      destruct Sides as (Uu & Uv & C1 & C2 & C3 & C4 & Vu).
      destruct Own as (On & Oo & Oon & Oon' & E1 & E2 & E3 & E4).
      pose proof (pace_one b) as Pb. pose proof (pace_one a) as Pa.
      split; [apply T_unit|]. split; [apply T_unit|].
      destruct (Nat.ltb_spec u k) as [Lu|Lu]; destruct (Nat.ltb_spec u' k) as [Lu'|Lu'];
        [| exfalso; lia | |].
      - (* below in both *)
        destruct (Nat.eq_dec u u') as [Eu|Eu].
        + rewrite Eu. products. split; apply keeps; auto.
        + replace (k - u' - 1)%nat with (S (k - u - 1)) by lia. rewrite Nat.mul_succ_r. products. split.
          * apply (falls_by (stride_of b)); [apply pace_step|lia|lia].
          * apply keeps; [assumption|lia].
      - (* it comes to be below *)
        assert (m <> m') by (intros <-; lia). destruct Which as [|[-> _]]; [contradiction|].
        replace (k - u' - 1)%nat with 0%nat by lia. rewrite !Nat.mul_0_r, !Nat.add_0_r.
        destruct (Nat.leb_spec k v) as [Lv|Lv].
        + replace (v - k)%nat with 0%nat by lia. rewrite !Nat.mul_0_r, ?Nat.add_0_r. split; apply pace_first.
        + split; [apply pace_first|]. destruct (Nat.ltb_spec n k); [|destruct (Nat.leb_spec k o)];
            [apply keeps; [assumption|lia]|now apply pace_near|apply keeps; [assumption|lia]].
      - destruct (Nat.leb_spec k v) as [Lv|Lv]; destruct (Nat.leb_spec k v') as [Lv'|Lv']; [| |exfalso; lia|].
        + (* above in both *)
          destruct (Nat.eq_dec v v') as [Ev|Ev].
          * rewrite Ev. products. split; apply keeps; auto.
          * replace (v - k)%nat with (S (v' - k)) by lia. rewrite Nat.mul_succ_r. products. split.
            -- apply keeps; [assumption|lia].
            -- apply (falls_by (stride_of a)); [apply pace_step|lia|lia].
        + (* it comes to be within the spread *)
          assert (m <> m') by (intros <-; lia). destruct Which as [|[-> _]]; [contradiction|].
          replace (v - k)%nat with 0%nat by lia. rewrite !Nat.mul_0_r, !Nat.add_0_r. split; [|apply pace_first].
          destruct (Nat.ltb_spec n' k); [|destruct (Nat.leb_spec k o')];
            [now apply pace_near|apply keeps; [assumption|lia]|apply keeps; [assumption|lia]].
        + (* within the spread in both: below, above or the answer itself *)
          destruct (Nat.ltb_spec n k), (Nat.ltb_spec n' k), (Nat.leb_spec k o), (Nat.leb_spec k o'); try (exfalso; lia);
            split; first [apply keeps; [assumption|lia] | now apply pace_near]. }
    destruct (Nat.eq_dec m m') as [Em|Em]; [|apply Same; [destruct (proj2 Dm Em); lia|right; apply (proj2 Dm Em)]].
    destruct (Nat.eq_dec e e') as [Ee|Ee]; [apply Same; [assumption|now left]|].
    destruct (proj1 Dm Em) as [De De']. clear Same.
    destruct (le_lt_dec e e') as [Le|Le].
    - (* the depth rises *)
      exists (factor (largest_step table (stride_of b + d))), (factor (largest_step table (stride_of a - d))).
      split; [apply factor_one, steps_of|]. split; [apply factor_one, steps_of|]. split; [apply paid; cbn; tauto|].
      pose proof (factor_one _ (proj1 (steps_of (stride_of b + d)))) as Pb. pose proof (factor_one _ (proj1 (steps_of (stride_of a - d)))) as Pa.
      intro t. specialize (Sides t). specialize (Own t). cbn zeta in Sides, Own. unfold sided_level. cbn zeta.
      set (u := upto db (t + spread_of b)) in *. set (u' := upto db' (t + spread_of b)) in *.
      set (v := Lengths.below db (t - spread_of a)) in *. set (v' := Lengths.below db' (t - spread_of a)) in *.
      set (n := upto db t) in *. set (n' := upto db' t) in *.
      set (o := Lengths.below db t) in *. set (o' := Lengths.below db' t) in *.
      destruct Sides as (Uu & Uv & C1 & C2 & C3 & C4 & Vu).
      destruct Own as (On & Oo & Oon & Oon' & E1 & E2 & E3 & E4).
      split; [apply T_unit|]. split; [apply T_unit|]. replace e' with (S e) by lia. rewrite Nat.mul_succ_r.
      destruct (Nat.ltb_spec u k) as [Lu|Lu]; destruct (Nat.ltb_spec u' k) as [Lu'|Lu']; [|exfalso; lia|exfalso; lia|].
      + destruct (Nat.eq_dec u u') as [Eu|Eu].
        * rewrite Eu. products. split; [apply (falls_by (stride_of b + d)); [lra|lia|lia]|apply keeps; [assumption|lia]].
        * replace (k - u' - 1)%nat with (S (k - u - 1)) by lia. rewrite Nat.mul_succ_r. products.
          split; [apply (falls_by (stride_of b + d)); [lra|lia|lia]|apply keeps; [assumption|lia]].
      + destruct (Nat.leb_spec k v) as [Lv|Lv]; destruct (Nat.leb_spec k v') as [Lv'|Lv']; [|exfalso; lia|exfalso; lia|
        destruct (Nat.ltb_spec n k), (Nat.ltb_spec n' k), (Nat.leb_spec k o), (Nat.leb_spec k o'); try (exfalso; lia); split; apply keeps; auto].
        destruct (Nat.eq_dec v v') as [Ev|Ev].
        * rewrite Ev. products. split; [apply (falls_by (stride_of b + d)); [lra|lia|lia]|apply keeps; [assumption|lia]].
        * replace (v - k)%nat with (S (v' - k)) by lia. rewrite Nat.mul_succ_r. products.
          split; [apply (falls_by (stride_of b + d)); [lra|lia|lia]|apply (falls_by (stride_of a - d)); [lra|lia|lia]].
    - (* the depth falls *)
      exists (factor (largest_step table (stride_of b - d))), (factor (largest_step table (stride_of a + d))).
      split; [apply factor_one, steps_of|]. split; [apply factor_one, steps_of|]. split; [apply paid; cbn; tauto|].
      pose proof (factor_one _ (proj1 (steps_of (stride_of b - d)))) as Pb. pose proof (factor_one _ (proj1 (steps_of (stride_of a + d)))) as Pa.
      intro t. specialize (Sides t). specialize (Own t). cbn zeta in Sides, Own. unfold sided_level. cbn zeta.
      set (u := upto db (t + spread_of b)) in *. set (u' := upto db' (t + spread_of b)) in *.
      set (v := Lengths.below db (t - spread_of a)) in *. set (v' := Lengths.below db' (t - spread_of a)) in *.
      set (n := upto db t) in *. set (n' := upto db' t) in *.
      set (o := Lengths.below db t) in *. set (o' := Lengths.below db' t) in *.
      destruct Sides as (Uu & Uv & C1 & C2 & C3 & C4 & Vu).
      destruct Own as (On & Oo & Oon & Oon' & E1 & E2 & E3 & E4).
      split; [apply T_unit|]. split; [apply T_unit|]. replace e with (S e') by lia. rewrite Nat.mul_succ_r.
      destruct (Nat.ltb_spec u k) as [Lu|Lu]; destruct (Nat.ltb_spec u' k) as [Lu'|Lu']; [|exfalso; lia|exfalso; lia|].
      + destruct (Nat.eq_dec u u') as [Eu|Eu].
        * rewrite Eu. products. split; [apply keeps; [assumption|lia]|apply (falls_by (stride_of a + d)); [lra|lia|lia]].
        * replace (k - u' - 1)%nat with (S (k - u - 1)) by lia. rewrite Nat.mul_succ_r. products.
          split; [apply (falls_by (stride_of b - d)); [lra|lia|lia]|apply (falls_by (stride_of a + d)); [lra|lia|lia]].
      + destruct (Nat.leb_spec k v) as [Lv|Lv]; destruct (Nat.leb_spec k v') as [Lv'|Lv']; [|exfalso; lia|exfalso; lia|
        destruct (Nat.ltb_spec n k), (Nat.ltb_spec n' k), (Nat.leb_spec k o), (Nat.leb_spec k o'); try (exfalso; lia); split; apply keeps; auto].
        destruct (Nat.eq_dec v v') as [Ev|Ev].
        * rewrite Ev. products. split; [apply keeps; [assumption|lia]|apply (falls_by (stride_of a + d)); [lra|lia|lia]].
        * replace (v - k)%nat with (S (v' - k)) by lia. rewrite Nat.mul_succ_r. products.
          split; [apply keeps; [assumption|lia]|apply (falls_by (stride_of a + d)); [lra|lia|lia]].
  Qed.

  Definition sided_levels (w k : nat) (g : list nat * nat) : list nat := map (sided_level k (snd g) (fst g)) (seq 0 (w + 1)).

  Lemma sided_flip w k db db' e e' i : replaced db db' -> (1 <= k <= length db)%nat ->
    (forall v, In v db -> v <= w)%nat -> (forall v, In v db' -> v <= w)%nat ->
    has_depth (rank_lengths w k db) e -> has_depth (rank_lengths w k db') e' ->
    flip (map T (sided_levels w k (db, e))) i <= allowed * flip (map T (sided_levels w k (db', e'))) i.
  Proof.
    intros H Hk Hw Hw' D D'. pose proof (replaced_length _ _ H) as Len.
    destruct (rank_exists db k w ltac:(lia) ltac:(rewrite upto_all; [lia|assumption])) as (m & Hm & R).
    destruct (rank_exists db' k w ltac:(lia) ltac:(rewrite upto_all; [lia|assumption])) as (m' & Hm' & R').
    assert (P : forall g, 0 <= flip (map T (sided_levels w k g)) i).
    { intro g. apply flip_nonneg. apply Forall_forall. intros z Hz. apply in_map_iff in Hz as (l & <- & _). apply T_unit. }
    assert (G : exists B A, 1 <= B /\ 1 <= A /\ B * A <= allowed /\
      forall t, moves_within B A (T (sided_level k e db t)) (T (sided_level k e' db' t))).
    { destruct (replaced_moves db db' H) as [U|U].
      - apply (moved_pairs w k db db' m m'); auto.
      - destruct (moved_pairs w k db' db m' m e' e ltac:(auto) U R' R Hm' Hm D' D) as (B & A & HB & HA & HP & HM).
        exists A, B. split; [assumption|]. split; [assumption|]. split; [lra|]. intro t. apply moves_back, HM. }
    destruct G as (B & A & HB & HA & HP & HM). apply Rle_trans with (B * A * flip (map T (sided_levels w k (db', e'))) i).
    - apply flip_product; auto. unfold sided_levels. rewrite !map_map. cbn [fst snd].
      generalize (seq 0 (w + 1)). intro l. induction l as [|t l IH]; cbn; constructor; auto.
    - apply Rmult_le_compat_r; auto.
  Qed.

  (** A group and its depth; the mechanism to reports, as it is drawn. *)
  Definition sided_law (k : nat) : mechanism (list nat * nat) nat :=
    Mechanism (seq 0 (Z.to_nat (width + 1))) (fun g i => drawn (map T (sided_levels (Z.to_nat width) k g)) i).

  Theorem sides_promise k db db' e e' : let w := Z.to_nat width in
    replaced db db' -> (1 <= k <= length db)%nat -> (forall v, In v db -> v <= w)%nat -> (forall v, In v db' -> v <= w)%nat ->
    has_depth (rank_lengths w k db) e -> has_depth (rank_lengths w k db') e' ->
    forall S, Pr (sided_law k) (db, e) S <= exp (eps en ed) * Pr (sided_law k) (db', e') S.
  Proof.
    intros w H Hk Hw Hw' D D'.
    set (near := fun g g' : list nat * nat => replaced (fst g) (fst g') /\ (1 <= k <= length (fst g))%nat /\
      (forall v, In v (fst g) -> v <= w)%nat /\ (forall v, In v (fst g') -> v <= w)%nat /\
      has_depth (rank_lengths w k (fst g)) (snd g) /\ has_depth (rank_lengths w k (fst g')) (snd g')).
    enough (Q : private near (eps en ed) (sided_law k)) by (apply (Q (db, e) (db', e')); unfold near; cbn; tauto).
    apply pointwise_private. intros g g' (H1 & H2 & H3 & H4 & H5 & H6) i Hi. cbn in *.
    pose proof (sided_flip w k (fst g) (fst g') (snd g) (snd g') i H1 H2 H3 H4 H5 H6) as B. rewrite <- !surjective_pairing in B.
    destruct facts as (_ & _ & _ & _ & _ & _ & _ & _ & _ & _ & _ & W & _).
    assert (Un : forall q, Forall in_unit (map T q)).
    { intro q. apply Forall_forall. intros z Hz. apply in_map_iff in Hz as (l & <- & _). apply T_unit. }
    assert (Ln : forall q, length (map T (sided_levels w k q)) = Z.to_nat (width + 1)).
    { intro q. unfold sided_levels. rewrite !map_length, seq_length. unfold w. lia. }
    destruct (drawn_near (map T (sided_levels w k g)) i (Un _)) as [_ Hi'].
    destruct (drawn_near (map T (sided_levels w k g')) i (Un _)) as [Lo _].
    rewrite Ln in Hi', Lo. fold slack in Hi', Lo. pose proof slack_small as Sl.
    pose proof (flip_nonneg (map T (sided_levels w k g')) i (Un _)) as P.
    apply Rle_trans with (1 := Hi'). apply Rle_trans with ((1 + slack) * (allowed * flip (map T (sided_levels w k g')) i)).
    { apply Rmult_le_compat_l; lra. }
    replace ((1 + slack) * (allowed * flip (map T (sided_levels w k g')) i))
      with (exp (eps en ed) * ((1 - slack) * flip (map T (sided_levels w k g')) i)) by (unfold allowed; field; lra).
    apply Rmult_le_compat_l; [left; apply exp_pos|exact Lo].
  Qed.
End Accepted.
