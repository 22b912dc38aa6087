(** The promise of an accepted passport, one theorem for each kind of question: for all neighbouring databases and all
    sets of reports.

    A database is a list of records. [replaced]: one record is another one, the size is public. [added]: one record is
    there or not. [answers_at p x j] says that position j of the passport stands for the answer x: the door sends an
    answer of a grid there. Real answers of an interval come through [cell_of], the door's cells with their allowance.

    count_promise, open_count_promise     how many records ...; either relation
    total_promise, open_total_promise     the sum of whole numbers between bounds
    mean_promise                          their mean
    extreme_promise                       any statistic at all, where all answers are neighbours
    category_promise                      one person's label
    ordinal_promise                       one person's number, at epsilon for every unit of distance
    interval_promise                      real answers that the caller's arithmetic may have moved within the allowance
    value_promise                         whatever moves by at most the reach *)
From Coq Require Import ZArith Reals List Bool Lra Lia Psatz Arith.
From Inbounds Require Import Exp Privacy Matrix Noise Neighbours Passport.
Import ListNotations.
Open Scope R_scope.

(** * Databases *)
Inductive replaced {P} : list P -> list P -> Prop :=
| replaced_here x y l : replaced (x :: l) (y :: l)
| replaced_there x l l' : replaced l l' -> replaced (x :: l) (x :: l').

(** One record more, anywhere. *)
Inductive extended {P} : list P -> list P -> Prop :=
| extended_here x l : extended l (x :: l)
| extended_there x l l' : extended l l' -> extended (x :: l) (x :: l').

Definition added {P} (db db' : list P) : Prop := extended db db' \/ extended db' db.

Fixpoint count {P} (f : P -> bool) (db : list P) : nat :=
  match db with [] => 0 | x :: l => (if f x then 1 else 0) + count f l end.

Fixpoint total {P} (f : P -> Z) (db : list P) : Z :=
  match db with [] => 0 | x :: l => f x + total f l end%Z.

Definition mean {P} (f : P -> Z) (db : list P) : R := IZR (total f db) / INR (length db).

Lemma replaced_length {P} (db db' : list P) : replaced db db' -> length db = length db'.
Proof. induction 1; cbn; lia. Qed.

Lemma count_replaced {P} (f : P -> bool) db db' : replaced db db' ->
  (count f db <= count f db' + 1 /\ count f db' <= count f db + 1)%nat.
Proof. induction 1; cbn; [destruct (f x), (f y)|destruct (f x)]; lia. Qed.

Lemma count_extended {P} (f : P -> bool) db db' : extended db db' ->
  (count f db <= count f db' <= count f db + 1)%nat.
Proof. induction 1; cbn; destruct (f x); lia. Qed.

Lemma total_replaced {P} (f : P -> Z) low high db db' : (forall x, low <= f x <= high)%Z -> replaced db db' ->
  (Z.abs (total f db - total f db') <= high - low)%Z.
Proof. intros Hf. induction 1; cbn; [pose proof (Hf x); pose proof (Hf y)|]; lia. Qed.

Lemma total_extended {P} (f : P -> Z) low high db db' : (forall x, low <= f x <= high)%Z -> extended db db' ->
  (Z.abs (total f db - total f db') <= Z.max (Z.abs low) (Z.abs high))%Z.
Proof. intros Hf. induction 1; cbn; [pose proof (Hf x)|]; lia. Qed.

(** Moving numbers into a range brings no two of them further apart. *)
Definition clamp (low high x : Z) : Z := Z.max low (Z.min high x).

Lemma clamp_lipschitz low high x y : (low <= high)%Z -> (Z.abs (clamp low high x - clamp low high y) <= Z.abs (x - y))%Z.
Proof. unfold clamp. lia. Qed.

(** * Positions that stand for answers *)
Definition answers_at (p : passport) (x : R) (j : nat) : Prop := (j < positions p)%nat /\ value p j = x.

(** The promise about two positions. *)
Definition promised (p : passport) (e : R) (j k : nat) : Prop :=
  forall S : nat -> bool, Pr (law_of p) j S <= exp e * Pr (law_of p) k S.

Section Accepted.
  Variable p : passport.
  Hypothesis accepted : check_passport p = true.

  Lemma promised_by_price j k d : (j < positions p)%nat -> (k < positions p)%nat ->
    price (tick_at p) (near_ticks p) j k = Some d -> promised p (real (epsilon p) * d) j k.
  Proof. intros Hj Hk Hd S. now apply passport_private. Qed.

  Lemma within_reach r j k : near p = ByReach r -> (j < positions p)%nat -> (k < positions p)%nat ->
    (Z.abs (tick_at p j - tick_at p k) <= r)%Z -> promised p (real (epsilon p)) j k.
  Proof.
    intros Hn Hj Hk Hr. rewrite <- (Rmult_1_r (real (epsilon p))). apply promised_by_price; auto.
    unfold near_ticks. rewrite Hn. cbn [price]. apply Z.leb_le in Hr. now rewrite Hr.
  Qed.

  (** Whatever the statistic: answers at most the reach apart. *)
  Theorem value_promise r x y j k : near p = ByReach r -> answers_at p x j -> answers_at p y k ->
    Rabs (x - y) <= IZR r * real (grid_step (answers p)) -> promised p (real (epsilon p)) j k.
  Proof.
    intros Hn [Hj <-] [Hk <-] Hd. apply (within_reach r); auto.
    pose proof (real_unit_pos p accepted) as U. unfold value in Hd.
    replace (real (first (answers p)) + real (grid_step (answers p)) * IZR (tick_at p j)
             - (real (first (answers p)) + real (grid_step (answers p)) * IZR (tick_at p k)))
      with (real (grid_step (answers p)) * IZR (tick_at p j - tick_at p k)) in Hd by (rewrite minus_IZR; ring).
    rewrite Rabs_mult, (Rabs_right (real _)) in Hd by lra. apply le_IZR. rewrite abs_IZR.
    apply Rmult_le_reg_l with (real (grid_step (answers p))); lra.
  Qed.

  Lemma any_two j k : near p = AllOfThem -> (j < positions p)%nat -> (k < positions p)%nat ->
    promised p (real (epsilon p)) j k.
  Proof.
    intros Hn Hj Hk. rewrite <- (Rmult_1_r (real (epsilon p))). apply promised_by_price; auto.
    unfold near_ticks. now rewrite Hn.
  Qed.

  Lemma frac_eq_real a b : (0 < den a)%Z -> (0 < den b)%Z -> frac_eq a b = true -> real a = real b.
  Proof.
    intros Ha Hb H. apply Z.eqb_eq in H. apply IZR_pos in Ha, Hb. apply (f_equal IZR) in H. rewrite !mult_IZR in H.
    unfold real. apply Rmult_eq_reg_r with (IZR (den a) * IZR (den b)); [|nra].
    field_simplify; lra.
  Qed.

  (** The answers of a count are 0, 1, 2, ... *)
  Lemma count_grid : asked p = Count -> real (grid_step (answers p)) = 1 /\ real (first (answers p)) = 0.
  Proof.
    intros Hk. destruct (query_facts p accepted) as (Hs & _ & H & _). unfold kind_ok in H. rewrite Hk in H.
    unfold scale_ok, is_positive, is_number in Hs. rewrite !andb_true_iff in *. rewrite !Z.ltb_lt in Hs.
    destruct H as [[_ F] U]. apply frac_eq_real in F; [|tauto|cbn; lia]. apply frac_eq_real in U; [|tauto|cbn; lia].
    rewrite F, U. unfold real, whole. cbn. split; field.
  Qed.

  Lemma reach_at_least_one r : near p = ByReach r -> (1 <= r)%Z.
  Proof.
    intros Hn. destruct (query_facts p accepted) as (_ & H & _). unfold neighbours_ok in H. rewrite Hn in H.
    rewrite !andb_true_iff in H. destruct H as [[H _] _]. now apply Z.leb_le.
  Qed.

  (** * Counts *)
  Theorem count_promise {P} (f : P -> bool) r : asked p = Count -> near p = ByReach r ->
    forall db db', replaced db db' -> forall j k,
    answers_at p (INR (count f db)) j -> answers_at p (INR (count f db')) k -> promised p (real (epsilon p)) j k.
  Proof.
    intros Ha Hn db db' H j k Hj Hk. apply (value_promise r _ _ _ _ Hn Hj Hk).
    destruct (count_grid Ha) as [-> _]. pose proof (reach_at_least_one r Hn) as R1. apply IZR_le in R1.
    destruct (count_replaced f db db' H) as [A B]. apply le_INR in A, B. rewrite plus_INR in A, B. cbn in A, B.
    apply Rabs_le. lra.
  Qed.

  (** A record added or removed; the count is clamped to the declared size. *)
  Theorem open_count_promise {P} (f : P -> bool) r most : asked p = Count -> near p = ByReach r ->
    forall db db', added db db' -> forall j k,
    answers_at p (INR (Nat.min most (count f db))) j -> answers_at p (INR (Nat.min most (count f db'))) k ->
    promised p (real (epsilon p)) j k.
  Proof.
    intros Ha Hn db db' H j k Hj Hk. apply (value_promise r _ _ _ _ Hn Hj Hk).
    destruct (count_grid Ha) as [-> _]. pose proof (reach_at_least_one r Hn) as R1. apply IZR_le in R1.
    assert (Nat.min most (count f db) <= Nat.min most (count f db') + 1 /\
            Nat.min most (count f db') <= Nat.min most (count f db) + 1)%nat as [A B]
      by (destruct H as [H|H]; pose proof (count_extended f _ _ H); lia).
    apply le_INR in A, B. rewrite plus_INR in A, B. cbn in A, B. apply Rabs_le. lra.
  Qed.

  (** * Totals: whole numbers between low and high, in units of the grid *)
  Theorem total_promise {P} (f : P -> Z) low high r : near p = ByReach r -> (forall x, low <= f x <= high)%Z ->
    (IZR (high - low) <= IZR r * real (grid_step (answers p))) ->
    forall db db', replaced db db' -> forall j k,
    answers_at p (IZR (total f db)) j -> answers_at p (IZR (total f db')) k -> promised p (real (epsilon p)) j k.
  Proof.
    intros Hn Hf Hr db db' H j k Hj Hk. apply (value_promise r _ _ _ _ Hn Hj Hk).
    pose proof (total_replaced f low high db db' Hf H) as T. rewrite <- minus_IZR, <- abs_IZR.
    apply Rle_trans with (2 := Hr). now apply IZR_le.
  Qed.

  Theorem open_total_promise {P} (f : P -> Z) low high least most r : near p = ByReach r ->
    (forall x, low <= f x <= high)%Z -> (least <= most)%Z ->
    (IZR (Z.max (Z.abs low) (Z.abs high)) <= IZR r * real (grid_step (answers p))) ->
    forall db db', added db db' -> forall j k,
    answers_at p (IZR (clamp least most (total f db))) j -> answers_at p (IZR (clamp least most (total f db'))) k ->
    promised p (real (epsilon p)) j k.
  Proof.
    intros Hn Hf Hl Hr db db' H j k Hj Hk. apply (value_promise r _ _ _ _ Hn Hj Hk).
    rewrite <- minus_IZR, <- abs_IZR. apply Rle_trans with (2 := Hr). apply IZR_le.
    eapply Z.le_trans; [now apply clamp_lipschitz|].
    destruct H as [H|H]; pose proof (total_extended f low high _ _ Hf H); lia.
  Qed.

  (** * Means of n whole numbers: the reach in units of 1/n covers one of them *)
  Theorem mean_promise {P} (f : P -> Z) low high n r : near p = ByReach r -> (forall x, low <= f x <= high)%Z ->
    (0 < n)%nat -> (IZR (high - low) <= IZR r * real (grid_step (answers p)) * INR n) ->
    forall db db', length db = n -> replaced db db' -> forall j k,
    answers_at p (mean f db) j -> answers_at p (mean f db') k -> promised p (real (epsilon p)) j k.
  Proof.
    intros Hn Hf Hpos Hr db db' Hl H j k Hj Hk. apply (value_promise r _ _ _ _ Hn Hj Hk).
    pose proof (replaced_length _ _ H) as E. unfold mean. rewrite <- E, Hl. apply lt_0_INR in Hpos.
    replace (IZR (total f db) / INR n - IZR (total f db') / INR n)
      with (IZR (total f db - total f db') * / INR n) by (rewrite minus_IZR; unfold Rdiv; ring).
    rewrite Rabs_mult, (Rabs_right (/ INR n)) by (left; now apply Rinv_0_lt_compat).
    apply Rmult_le_reg_r with (INR n); [assumption|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    rewrite <- abs_IZR. apply Rle_trans with (2 := Hr). apply IZR_le. now apply total_replaced.
  Qed.

  (** As `ib.mean(n, low, high)` makes the query: unit 1/n and reach high - low. *)
  Corollary plain_mean_promise {P} (f : P -> Z) low high n : near p = ByReach (high - low) ->
    (forall x, low <= f x <= high)%Z -> (0 < n)%nat -> real (grid_step (answers p)) = / INR n ->
    forall db db', length db = n -> replaced db db' -> forall j k,
    answers_at p (mean f db) j -> answers_at p (mean f db') k -> promised p (real (epsilon p)) j k.
  Proof.
    intros Hn Hf Hpos Hu. apply (mean_promise f low high n (high - low)); auto.
    rewrite Hu. apply lt_0_INR in Hpos. rewrite Rmult_assoc, Rinv_l by lra. lra.
  Qed.

  (** * Minimum, maximum, median, anything: all answers are neighbours *)
  Theorem extreme_promise {D} (statistic : D -> R) : near p = AllOfThem -> forall db db' j k,
    answers_at p (statistic db) j -> answers_at p (statistic db') k -> promised p (real (epsilon p)) j k.
  Proof. intros Hn db db' j k [Hj _] [Hk _]. now apply any_two. Qed.

  (** * One person's label: labels are positions *)
  Theorem category_promise {L} (names : list L) : near p = AllOfThem -> labels p = Some (Z.of_nat (length names)) ->
    forall label label' j k, nth_error names j = Some label -> nth_error names k = Some label' ->
    promised p (real (epsilon p)) j k.
  Proof.
    intros Hn Hl label label' j k Hj Hk. pose proof (accepted_query p accepted) as Q. unfold query_ok in Q.
    rewrite !andb_true_iff in Q. destruct Q as [[[[[[_ L0] _] _] _] _] _]. unfold labels_ok in L0. rewrite Hl, Hn in L0.
    apply Z.eqb_eq in L0.
    assert (j < length names)%nat by (apply nth_error_Some; congruence).
    assert (k < length names)%nat by (apply nth_error_Some; congruence).
    apply any_two; auto; unfold positions; lia.
  Qed.

  (** * One person's number: epsilon for every unit of distance *)
  Theorem ordinal_promise d : near p = ByMetric d -> forall x y j k, answers_at p x j -> answers_at p y k ->
    promised p (real (epsilon p) * (Rabs (x - y) / real d)) j k.
  Proof.
    intros Hn x y j k [Hj <-] [Hk <-].
    pose proof (real_unit_pos p accepted) as U. destruct (unit_pos p accepted) as [Un Ud].
    destruct (query_facts p accepted) as (_ & H & _). unfold neighbours_ok in H. rewrite Hn in H.
    unfold is_positive, is_number in H. rewrite andb_true_iff, !Z.ltb_lt in H. destruct H as [Dd Dn].
    apply promised_by_price; auto. unfold near_ticks. rewrite Hn. cbn [price]. f_equal.
    unfold value.
    replace (real (first (answers p)) + real (grid_step (answers p)) * IZR (tick_at p j)
             - (real (first (answers p)) + real (grid_step (answers p)) * IZR (tick_at p k)))
      with (real (grid_step (answers p)) * IZR (tick_at p j - tick_at p k)) by (rewrite minus_IZR; ring).
    rewrite Rabs_mult, (Rabs_right (real _)), <- abs_IZR by lra. rewrite !mult_IZR. unfold real.
    apply IZR_pos in Un, Ud, Dd, Dn. field. repeat split; lra.
  Qed.

  (** * Real answers, rounded down into cells a hair wider than the grid's own *)

  (** reach * cell = reach * unit + allowance *)
  Definition cell (r : Z) : R := real (grid_step (answers p)) + real (allowance p) / IZR r.

  (** The cell of a real answer in a run of cells from tick a to tick b that begins at [low]: rounded down, and moved
      to the nearer end where it lies beyond the run (by no more than the allowance, or it is refused). *)
  Definition cell_of (low width : R) (a b : Z) (x : R) (t : Z) : Prop :=
    exists k, IZR k * width <= x - low < (IZR k + 1) * width /\ t = clamp a b (a + k).

  Lemma cells_lipschitz low width a b x y s t r : 0 < width -> (a <= b)%Z ->
    cell_of low width a b x s -> cell_of low width a b y t -> Rabs (x - y) <= IZR r * width ->
    (Z.abs (s - t) <= r)%Z.
  Proof.
    intros Hw Hab (k & [K1 K2] & ->) (l & [L1 L2] & ->) Hd.
    assert (D : x - y <= IZR r * width /\ y - x <= IZR r * width).
    { pose proof (Rle_abs (x - y)). pose proof (Rle_abs (y - x)). rewrite Rabs_minus_sym in H0. lra. }
    assert (A : (k < l + 1 + r)%Z).
    { apply lt_IZR. rewrite !plus_IZR. apply Rmult_lt_reg_r with width; [assumption|]. lra. }
    assert (B : (l < k + 1 + r)%Z).
    { apply lt_IZR. rewrite !plus_IZR. apply Rmult_lt_reg_r with width; [assumption|]. lra. }
    eapply Z.le_trans; [now apply clamp_lipschitz|]. lia.
  Qed.

  (** A run is all cells where no hole is wider than the reach; otherwise neighbours lie in one run, between two
      such holes. x and y: the answers of neighbouring databases as the caller computed them. *)
  Theorem interval_promise r low a b x y j k : near p = ByReach r -> (a <= b)%Z ->
    (j < positions p)%nat -> (k < positions p)%nat ->
    cell_of low (cell r) a b x (tick_at p j) -> cell_of low (cell r) a b y (tick_at p k) ->
    Rabs (x - y) <= IZR r * real (grid_step (answers p)) + real (allowance p) -> promised p (real (epsilon p)) j k.
  Proof.
    intros Hn Hab Hj Hk Cx Cy Hd. apply (within_reach r); auto.
    pose proof (reach_at_least_one r Hn) as R1. assert (R0 : 0 < IZR r) by (apply IZR_pos; lia).
    pose proof (real_unit_pos p accepted) as U.
    destruct (query_facts p accepted) as (_ & _ & _ & Al & _). unfold allowance_ok, is_number in Al.
    rewrite !andb_true_iff, Z.ltb_lt, Z.leb_le in Al. destruct Al as [[Ad An] _].
    assert (A0 : 0 <= real (allowance p)).
    { apply Rmult_le_pos; [now apply IZR_le|]. left. apply Rinv_0_lt_compat. now apply IZR_pos. }
    assert (W : 0 < cell r).
    { unfold cell. assert (0 <= real (allowance p) / IZR r); [|lra].
      apply Rmult_le_pos; [assumption|]. left. now apply Rinv_0_lt_compat. }
    apply (cells_lipschitz low (cell r) a b x y); auto.
    replace (IZR r * cell r) with (IZR r * real (grid_step (answers p)) + real (allowance p)); [assumption|].
    unfold cell. field. lra.
  Qed.

  (** True answers at most the sensitivity apart, computed with an error of at most half the allowance each. *)
  Corollary interval_promise_computed r low a b sensitivity exact exact' x y j k : near p = ByReach r -> (a <= b)%Z ->
    (j < positions p)%nat -> (k < positions p)%nat ->
    sensitivity <= IZR r * real (grid_step (answers p)) -> Rabs (exact - exact') <= sensitivity ->
    Rabs (x - exact) <= real (allowance p) / 2 -> Rabs (y - exact') <= real (allowance p) / 2 ->
    cell_of low (cell r) a b x (tick_at p j) -> cell_of low (cell r) a b y (tick_at p k) ->
    promised p (real (epsilon p)) j k.
  Proof.
    intros Hn Hab Hj Hk Hs He Hx Hy Cx Cy. apply (interval_promise r low a b x y j k Hn Hab Hj Hk Cx Cy).
    replace (x - y) with ((x - exact) + (exact - exact') + (exact' - y)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. pose proof (Rabs_triang (x - exact) (exact - exact')).
    rewrite (Rabs_minus_sym exact' y). lra.
  Qed.
End Accepted.
