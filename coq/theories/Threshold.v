(** Counts that are reported only above a threshold, so that a group of nobody is never reported: trusted/threshold.py.

    A count n is reported as n + noise where that exceeds the bound of the noise that was drawn, otherwise nothing is (0).
    The noise is -k..k with the bound k and the weights [wide], or -(k - 1)..k - 1 with the bound k - 1 and the weights
    [narrow]. Reports are then at most the largest count.

    tally_spec           what is reported of at most 2k + 2 persons, as the checker counts it
    tally_moves          for larger counts all reports move along, so that they need no check of their own
    check_threshold_sound  what the checker accepts is (epsilon, delta)-private for counts one apart, however large
    threshold_distribution and its masses sum to one
    nobody_unreported    of nobody, nothing is ever reported
    threshold_passport   the promise of a passport of this law, for all neighbouring answers and all sets of reports *)
From Coq Require Import ZArith Reals List Bool Lra Lia Psatz Arith FinFun.
From Inbounds Require Import Exp Privacy Matrix Neighbours Passport Approximate.
Import ListNotations.
Open Scope Z_scope.

(** * The law *)

(** An outcome: noise, the bound that its report must exceed, and its weight. *)
Definition outcomes_of (bound : Z) (table : list Z) : list (Z * Z * Z) :=
  map (fun i => (Z.of_nat i - bound, bound, nth i table 0)) (seq 0 (length table)).

Definition largest (wide : list Z) : nat := Nat.div2 (length wide).

Definition outcomes (wide narrow : list Z) : list (Z * Z * Z) :=
  outcomes_of (Z.of_nat (largest wide)) wide ++ outcomes_of (Z.of_nat (largest wide) - 1) narrow.

(** What is reported of n persons, a number or 0 for nothing, before the largest count. *)
Definition raw (n : Z) (x : Z * Z * Z) : Z := let '(noise, bound, _) := x in if bound <? n + noise then n + noise else 0.

Definition weight_of (x : Z * Z * Z) : Z := snd x.

Definition threshold_law (wide narrow : list Z) (size : nat) : mechanism nat nat :=
  Mechanism (seq 0 (S size)) (fun n o =>
    (rsum (outcomes wide narrow) (fun x =>
       if Z.min (Z.of_nat size) (raw (Z.of_nat n) x) =? Z.of_nat o then IZR (weight_of x) else 0) / IZR TOTAL)%R).

(** * The checker *)
Fixpoint suffix_sums (l : list Z) : list Z :=
  match l with [] => [0] | x :: l' => let sums := suffix_sums l' in (x + hd 0 sums) :: sums end.

Fixpoint prefix_sums (acc : Z) (l : list Z) : list Z :=
  acc :: match l with [] => [] | x :: l' => prefix_sums (acc + x) l' end.

Fixpoint add_lists (a b : list Z) : list Z :=
  match a, b with x :: a', y :: b' => x + y :: add_lists a' b' | _, _ => a end.

Definition beyond (p x y : Z) : Z := Z.max 0 (Z.shiftl x EXP_BITS - p * y).

Definition terms (p : Z) (high low : list Z) : list Z := map (fun xy => beyond p (fst xy) (snd xy)) (combine high low).

(** Both tables together, of the noise -k - 1..k. *)
Definition both (wide narrow : list Z) : list Z := 0 :: add_lists wide (0 :: narrow).

(** Report k: noise that is bounded by k - 1. *)
Definition at_bound (narrow : list Z) (k n : nat) : Z := if (n <? k + k)%nat then nth (k + k - 1 - n) narrow 0 else 0.

Definition check_threshold (wide narrow : list Z) (en ed dn dd : Z) : bool :=
  let k := largest wide in
  (0 <=? en) && (0 <? ed) && (0 <=? dn) && (0 <? dd)
  && (length wide =? k + k + 1)%nat && (1 <=? k)%nat
  && ((length narrow =? 0)%nat || (length narrow =? k + k - 1)%nat)
  && forallb (Z.leb 0) wide && forallb (Z.leb 0) narrow && (Zsum wide + Zsum narrow =? TOTAL)
  && (let p := ratio_below en ed 1 1 in
      let wide_upto := prefix_sums 0 wide in
      let narrow_upto := prefix_sums 0 narrow in
      let nothing := fun n => nth (k + k + 1 - n) wide_upto 0
                              + nth (Nat.min (k + k - 1 - n) (length narrow)) narrow_upto 0 in
      let more := suffix_sums (terms p (both wide narrow) (0 :: both wide narrow)) in
      let fewer := suffix_sums (terms p (both wide narrow) (add_lists wide (0 :: narrow) ++ [0])) in
      let allowed := dn * TOTAL * 2 ^ EXP_BITS in
      forallb (fun n =>
        (dd * (beyond p (nothing n) (nothing (S n)) + beyond p (at_bound narrow k n) (at_bound narrow k (S n))
               + nth (k + k + 2 - n) more 0) <=? allowed)
        && (dd * (beyond p (nothing (S n)) (nothing n) + beyond p (at_bound narrow k (S n)) (at_bound narrow k n)
               + nth (k + k + 1 - n) fewer 0) <=? allowed)) (seq 0 (k + k + 2))).

(** What `inbounds-check` runs on such a passport. *)
Definition counts_persons (p : passport) : bool :=
  match asked p, near p, labels p with
  | Count, ByReach r, None => (r =? 1) && one_output_per_answer p && negb (rounds p)
  | _, _, _ => false
  end.

Definition check_delta_threshold (p : passport) (wide narrow : list Z) (delta : frac) : bool :=
  query_ok p && counts_persons p && (0 <? num delta) && (num delta <? den delta)
  && check_threshold wide narrow (num (epsilon p)) (den (epsilon p)) (num delta) (den delta).

(** * Lists *)
Lemma suffix_sums_nth l : forall i, nth i (suffix_sums l) 0 = Zsum (skipn i l).
Proof.
  induction l as [|x l IH]; intro i; cbn [suffix_sums].
  - rewrite skipn_nil. destruct i as [|[|i]]; reflexivity.
  - destruct i as [|i]; [|apply IH]. cbn [nth skipn Zsum fold_right]. f_equal. specialize (IH 0%nat). cbn [skipn] in IH.
    fold (Zsum l). rewrite <- IH. destruct (suffix_sums l); reflexivity.
Qed.

Lemma prefix_sums_nth l : forall acc i, (i <= length l)%nat -> nth i (prefix_sums acc l) 0 = acc + Zsum (firstn i l).
Proof.
  induction l as [|x l IH]; intros acc [|i] H; cbn [length] in H; cbn [prefix_sums nth firstn Zsum fold_right]; try lia.
  rewrite IH by lia. fold (Zsum (firstn i l)). lia.
Qed.

Lemma add_lists_nth a : forall b i, (length b <= length a)%nat -> nth i (add_lists a b) 0 = nth i a 0 + nth i b 0.
Proof.
  induction a as [|x a IH]; intros [|y b] i H; cbn [length] in H; try lia.
  - destruct i; reflexivity.
  - cbn [add_lists]. destruct i; cbn [nth]; lia.
  - cbn [add_lists]. destruct i as [|i]; cbn [nth]; [reflexivity|]. apply IH. lia.
Qed.

Lemma add_lists_length a : forall b, length (add_lists a b) = length a.
Proof. induction a as [|x a IH]; intros [|y b]; cbn; auto. Qed.

Lemma terms_nth p high : forall low i, length low = length high \/ length low = S (length high) ->
  (i < length high)%nat -> nth i (terms p high low) 0 = beyond p (nth i high 0) (nth i low 0).
Proof.
  induction high as [|x high IH]; intros [|y low] i H Hi; cbn [length] in *; try lia.
  unfold terms. cbn [combine map fst snd]. destruct i as [|i]; cbn [nth]; [reflexivity|]. apply IH; lia.
Qed.

Lemma terms_length p high low : (length high <= length low)%nat -> length (terms p high low) = length high.
Proof. intro H. unfold terms. rewrite map_length, combine_length. lia. Qed.

Lemma beyond_nonneg p x y : 0 <= beyond p x y.
Proof. unfold beyond. lia. Qed.

Lemma nth_nonneg l i : forallb (Z.leb 0) l = true -> 0 <= nth i l 0.
Proof.
  intro H. rewrite forallb_forall in H. destruct (nth_in_or_default i l 0) as [D|D]; [|lia].
  apply Z.leb_le. now apply H.
Qed.

Open Scope R_scope.

Lemma all_zero {O} (l : list O) f : (forall o, In o l -> f o = 0) -> rsum l f = 0.
Proof. intro H. rewrite <- (rsum_zero l). now apply rsum_ext. Qed.

Lemma pick (f : Z -> R) l r : NoDup l -> In r l -> rsum l (fun o => if (r =? o)%Z then f o else 0) = f r.
Proof.
  induction l as [|a l IH]; intros N H; [easy|]. inversion N; subst. cbn [rsum].
  destruct H as [->|H].
  - rewrite Z.eqb_refl, all_zero; [ring|]. intros o Ho. destruct (Z.eqb_spec r o); [subst; contradiction|reflexivity].
  - destruct (Z.eqb_spec r a); [subst; contradiction|]. rewrite IH by assumption. ring.
Qed.

Lemma of_nats_different a n : NoDup (map Z.of_nat (seq a n)).
Proof. apply Injective_map_NoDup; [intros i j; lia|apply seq_NoDup]. Qed.

Lemma pick_nat (f : nat -> R) n r : (0 <= r < Z.of_nat n)%Z ->
  rsum (seq 0 n) (fun i => if (r =? Z.of_nat i)%Z then f i else 0) = f (Z.to_nat r).
Proof.
  intro H. transitivity (rsum (map Z.of_nat (seq 0 n)) (fun o => if (r =? o)%Z then f (Z.to_nat o) else 0)).
  - rewrite rsum_map. apply rsum_ext. intros i _. now rewrite Nat2Z.id.
  - apply (pick (fun o => f (Z.to_nat o))); [apply of_nats_different|].
    apply in_map_iff. exists (Z.to_nat r). split; [lia|]. apply in_seq. lia.
Qed.

(** The weight at a place that may lie outside the table. *)
Definition at_place (l : list Z) (r : Z) : Z := if (0 <=? r)%Z then nth (Z.to_nat r) l 0%Z else 0%Z.

Lemma sum_at (l : list Z) r :
  rsum (seq 0 (length l)) (fun i => if (r =? Z.of_nat i)%Z then IZR (nth i l 0%Z) else 0) = IZR (at_place l r).
Proof.
  unfold at_place. destruct (Z.leb_spec 0 r) as [H|H].
  - destruct (Z_lt_le_dec r (Z.of_nat (length l))) as [L|L].
    + apply (pick_nat (fun i => IZR (nth i l 0%Z))). lia.
    + rewrite nth_overflow by lia. apply all_zero.
      intros i Hi. apply in_seq in Hi. destruct (Z.eqb_spec r (Z.of_nat i)); [lia|reflexivity].
  - apply all_zero. intros i _. destruct (Z.eqb_spec r (Z.of_nat i)); [lia|reflexivity].
Qed.

Lemma sum_upto (l : list Z) : forall a,
  rsum (seq 0 (length l)) (fun i => if (i <? a)%nat then IZR (nth i l 0%Z) else 0) = IZR (Zsum (firstn a l)).
Proof.
  induction l as [|x l IH]; intro a; [destruct a; reflexivity|].
  cbn [length seq rsum]. rewrite <- seq_shift, rsum_map. destruct a as [|a].
  - rewrite all_zero; [|reflexivity]. cbn. ring.
  - cbn [firstn Zsum fold_right nth]. fold (Zsum (firstn a l)). rewrite plus_IZR, <- IH. reflexivity.
Qed.

Lemma first_terms (T : list Z) : (forall i, (0 <= nth i T 0)%Z) -> forall n,
  rsum (seq 0 n) (fun j => IZR (nth j T 0%Z)) <= IZR (Zsum T).
Proof.
  induction T as [|x T IH]; intros P n.
  - right. apply all_zero. intros j _. destruct j; reflexivity.
  - assert (Px := P 0%nat). assert (PT : forall i, (0 <= nth i T 0)%Z) by (intro i; exact (P (S i))).
    cbn [Zsum fold_right]. fold (Zsum T). rewrite plus_IZR. cbn [nth] in Px. apply IZR_le in Px. specialize (IH PT).
    destruct n as [|n].
    + specialize (IH 0%nat). cbn in *. lra.
    + specialize (IH n). cbn [seq rsum]. rewrite <- seq_shift, rsum_map. cbn [nth]. lra.
Qed.

Lemma nth_skip (T : list Z) : forall a j, nth j (skipn a T) 0%Z = nth (a + j) T 0%Z.
Proof.
  induction T as [|x T IH]; intros [|a] j; cbn [skipn Nat.add nth]; try reflexivity.
  - now destruct j.
  - apply IH.
Qed.

Lemma last_terms (T : list Z) n a : (forall i, (0 <= nth i T 0)%Z) ->
  rsum (seq 0 n) (fun j => IZR (nth (a + j) T 0%Z)) <= IZR (Zsum (skipn a T)).
Proof.
  intro P. eapply Rle_trans; [right|apply (first_terms (skipn a T))].
  - apply rsum_ext. intros j _. now rewrite nth_skip.
  - intro i. rewrite nth_skip. apply P.
Qed.

(** * What is reported, by the checker's numbers *)
Section Accepted.
  Variables (wide narrow : list Z) (en ed dn dd : Z).
  Hypothesis accepted : check_threshold wide narrow en ed dn dd = true.
  Let k := largest wide.
  Let K := Z.of_nat k.
  Let B := both wide narrow.

  Lemma facts : (0 <= en /\ 0 < ed /\ 0 <= dn /\ 0 < dd)%Z /\ length wide = (k + k + 1)%nat /\ (1 <= k)%nat
    /\ (length narrow = 0 \/ length narrow = k + k - 1)%nat
    /\ forallb (Z.leb 0) wide = true /\ forallb (Z.leb 0) narrow = true /\ (Zsum wide + Zsum narrow = TOTAL)%Z.
  Proof.
    pose proof accepted as H. unfold check_threshold in H. cbv zeta in H. fold k in H.
    rewrite !andb_true_iff, orb_true_iff, !Z.leb_le, !Z.ltb_lt, Z.eqb_eq, !Nat.eqb_eq, Nat.leb_le in H. tauto.
  Qed.

  Definition tally (n : Z) (q : Z -> R) : R :=
    rsum (outcomes wide narrow) (fun x => IZR (weight_of x) * q (raw n x)).

  Definition cell (n o : Z) : R := rsum (outcomes wide narrow) (fun x => if (raw n x =? o)%Z then IZR (weight_of x) else 0).

  (** Reports of at most 2k + 2 persons. *)
  Definition reports : list Z := 0%Z :: K :: map (fun j => K + 1 + Z.of_nat j)%Z (seq 0 (k + k + 2)).

  Lemma reports_different : NoDup reports.
  Proof.
    destruct facts as (_ & _ & Hk & _). unfold reports. repeat constructor.
    - intros [H|H]; [unfold K in H; lia|]. apply in_map_iff in H as (j & H & _). unfold K in H. lia.
    - intro H. apply in_map_iff in H as (j & H & _). lia.
    - apply Injective_map_NoDup; [intros i j; lia|apply seq_NoDup].
  Qed.

  Lemma outcome_cases x : In x (outcomes wide narrow) ->
    (exists i, (i < k + k + 1)%nat /\ x = (Z.of_nat i - K, K, nth i wide 0)%Z) \/
    (exists i, (i < k + k - 1)%nat /\ x = (Z.of_nat i - (K - 1), K - 1, nth i narrow 0)%Z).
  Proof.
    destruct facts as (_ & Lw & Hk & Ln & _). unfold outcomes, outcomes_of. fold k. fold K. intro H.
    apply in_app_or in H as [H|H]; apply in_map_iff in H as (i & <- & Hi); apply in_seq in Hi; [left|right];
      exists i; (split; [lia|reflexivity]).
  Qed.

  Lemma raw_reported n x : (0 <= n <= 2 * K + 2)%Z -> In x (outcomes wide narrow) -> In (raw n x) reports.
  Proof.
    intros Hn Hx. destruct facts as (_ & _ & Hk & _). unfold reports.
    assert (Far : forall o, (K + 1 <= o <= 3 * K + 2)%Z ->
              In o (map (fun j => K + 1 + Z.of_nat j)%Z (seq 0 (k + k + 2)))).
    { intros o Ho. apply in_map_iff. exists (Z.to_nat (o - K - 1)). split; [unfold K in *; lia|]. apply in_seq.
      unfold K in *. lia. }
    destruct (outcome_cases x Hx) as [(i & Hi & ->)|(i & Hi & ->)]; cbn [raw].
    - destruct (Z.ltb_spec K (n + (Z.of_nat i - K))); [|now left]. right. right. apply Far. unfold K in *. lia.
    - destruct (Z.ltb_spec (K - 1) (n + (Z.of_nat i - (K - 1)))); [|now left]. right.
      destruct (Z.eq_dec (n + (Z.of_nat i - (K - 1))) K) as [->|]; [now left|right]. apply Far. unfold K in *. lia.
  Qed.

  Lemma tally_cells n q : (0 <= n <= 2 * K + 2)%Z -> tally n q = rsum reports (fun o => q o * cell n o).
  Proof.
    intro Hn. unfold tally, cell. symmetry.
    transitivity (rsum reports (fun o => rsum (outcomes wide narrow) (fun x =>
      if (raw n x =? o)%Z then q o * IZR (weight_of x) else 0))).
    { apply rsum_ext. intros o _. rewrite <- rsum_scale. apply rsum_ext. intros x _. destruct (raw n x =? o)%Z; ring. }
    rewrite rsum_swap. apply rsum_ext. intros x Hx.
    rewrite (pick (fun o => q o * IZR (weight_of x)) reports (raw n x)); [ring|apply reports_different|].
    now apply raw_reported.
  Qed.

  Definition nothing (n : nat) : Z := (Zsum (firstn (k + k + 1 - n) wide) + Zsum (firstn (k + k - 1 - n) narrow))%Z.

  Lemma cell_parts n o : cell n o =
    rsum (seq 0 (length wide)) (fun i => if (raw n (Z.of_nat i - K, K, nth i wide 0) =? o)%Z then IZR (nth i wide 0%Z) else 0)
    + rsum (seq 0 (length narrow)) (fun i =>
        if (raw n (Z.of_nat i - (K - 1), K - 1, nth i narrow 0) =? o)%Z then IZR (nth i narrow 0%Z) else 0).
  Proof.
    unfold cell, outcomes, outcomes_of. fold k. fold K. rewrite rsum_app, !rsum_map. reflexivity.
  Qed.

  Lemma cell_nothing n : cell (Z.of_nat n) 0 = IZR (nothing n).
  Proof.
    destruct facts as (_ & Lw & Hk & _). rewrite cell_parts. unfold nothing. rewrite plus_IZR, <- !sum_upto. f_equal;
      apply rsum_ext; intros i _; cbn [raw].
    - destruct (Z.ltb_spec K (Z.of_nat n + (Z.of_nat i - K))), (Nat.ltb_spec i (k + k + 1 - n)); cbn [Z.eqb];
        try (unfold K in *; lia); try reflexivity.
      destruct (Z.eqb_spec (Z.of_nat n + (Z.of_nat i - K)) 0); [unfold K in *; lia|reflexivity].
    - destruct (Z.ltb_spec (K - 1) (Z.of_nat n + (Z.of_nat i - (K - 1)))), (Nat.ltb_spec i (k + k - 1 - n)); cbn [Z.eqb];
        try (unfold K in *; lia); try reflexivity.
      destruct (Z.eqb_spec (Z.of_nat n + (Z.of_nat i - (K - 1))) 0); [unfold K in *; lia|reflexivity].
  Qed.

  Lemma cell_at_bound n : cell (Z.of_nat n) K = IZR (at_bound narrow k n).
  Proof.
    destruct facts as (_ & Lw & Hk & Ln & _). rewrite cell_parts. rewrite (all_zero (seq 0 (length wide))).
    2: { intros i _. cbn [raw]. destruct (Z.ltb_spec K (Z.of_nat n + (Z.of_nat i - K))).
         - destruct (Z.eqb_spec (Z.of_nat n + (Z.of_nat i - K)) K); [lia|reflexivity].
         - destruct (Z.eqb_spec 0 K); [unfold K in *; lia|reflexivity]. }
    rewrite Rplus_0_l. rewrite (rsum_ext _ _ (fun i => if (2 * K - 1 - Z.of_nat n =? Z.of_nat i)%Z then IZR (nth i narrow 0%Z) else 0)).
    - rewrite sum_at. unfold at_place, at_bound. f_equal.
      destruct (Z.leb_spec 0 (2 * K - 1 - Z.of_nat n)), (Nat.ltb_spec n (k + k)); try (unfold K in *; lia).
      f_equal. unfold K. lia.
    - intros i _. cbn [raw]. destruct (Z.ltb_spec (K - 1) (Z.of_nat n + (Z.of_nat i - (K - 1)))).
      + destruct (Z.eqb_spec (Z.of_nat n + (Z.of_nat i - (K - 1))) K), (Z.eqb_spec (2 * K - 1 - Z.of_nat n) (Z.of_nat i));
          try reflexivity; lia.
      + destruct (Z.eqb_spec 0 K), (Z.eqb_spec (2 * K - 1 - Z.of_nat n) (Z.of_nat i)); try reflexivity; unfold K in *; lia.
  Qed.

  Lemma cell_above n j : (n <= k + k + 2)%nat ->
    cell (Z.of_nat n) (K + 1 + Z.of_nat j) = IZR (nth (k + k + 2 - n + j) B 0%Z).
  Proof.
    intro Hn. destruct facts as (_ & Lw & Hk & Ln & _). rewrite cell_parts.
    set (o := (K + 1 + Z.of_nat j)%Z).
    rewrite (rsum_ext (seq 0 (length wide)) _ (fun i => if (o + K - Z.of_nat n =? Z.of_nat i)%Z then IZR (nth i wide 0%Z) else 0)).
    2: { intros i _. cbn [raw]. unfold o. destruct (Z.ltb_spec K (Z.of_nat n + (Z.of_nat i - K))).
         - destruct (Z.eqb_spec (Z.of_nat n + (Z.of_nat i - K)) (K + 1 + Z.of_nat j)),
             (Z.eqb_spec (K + 1 + Z.of_nat j + K - Z.of_nat n) (Z.of_nat i)); try reflexivity; lia.
         - destruct (Z.eqb_spec 0 (K + 1 + Z.of_nat j)), (Z.eqb_spec (K + 1 + Z.of_nat j + K - Z.of_nat n) (Z.of_nat i));
             try reflexivity; unfold K in *; lia. }
    rewrite (rsum_ext (seq 0 (length narrow)) _
      (fun i => if (o + K - 1 - Z.of_nat n =? Z.of_nat i)%Z then IZR (nth i narrow 0%Z) else 0)).
    2: { intros i _. cbn [raw]. unfold o. destruct (Z.ltb_spec (K - 1) (Z.of_nat n + (Z.of_nat i - (K - 1)))).
         - destruct (Z.eqb_spec (Z.of_nat n + (Z.of_nat i - (K - 1))) (K + 1 + Z.of_nat j)),
             (Z.eqb_spec (K + 1 + Z.of_nat j + K - 1 - Z.of_nat n) (Z.of_nat i)); try reflexivity; lia.
         - destruct (Z.eqb_spec 0 (K + 1 + Z.of_nat j)), (Z.eqb_spec (K + 1 + Z.of_nat j + K - 1 - Z.of_nat n) (Z.of_nat i));
             try reflexivity; unfold K in *; lia. }
    rewrite !sum_at, <- plus_IZR. f_equal. unfold B, both, at_place.
    assert (Ls : (length (0%Z :: narrow) <= length wide)%nat) by (cbn [length]; lia).
    destruct (Z.leb_spec 0 (o + K - Z.of_nat n)) as [A|A].
    - replace (k + k + 2 - n + j)%nat with (S (Z.to_nat (o + K - Z.of_nat n))) by (unfold o, K; lia). cbn [nth].
      rewrite add_lists_nth by exact Ls. f_equal.
      destruct (Z.leb_spec 0 (o + K - 1 - Z.of_nat n)).
      + replace (Z.to_nat (o + K - Z.of_nat n)) with (S (Z.to_nat (o + K - 1 - Z.of_nat n))) by lia. reflexivity.
      + replace (Z.to_nat (o + K - Z.of_nat n)) with 0%nat by lia. reflexivity.
    - replace (k + k + 2 - n + j)%nat with 0%nat by (unfold o, K in *; lia). cbn [nth].
      destruct (Z.leb_spec 0 (o + K - 1 - Z.of_nat n)); lia.
  Qed.

  Lemma tally_spec n q : (n <= k + k + 2)%nat ->
    tally (Z.of_nat n) q = q 0%Z * IZR (nothing n) + (q K * IZR (at_bound narrow k n)
      + rsum (seq 0 (k + k + 2)) (fun j => q (K + 1 + Z.of_nat j)%Z * IZR (nth (k + k + 2 - n + j) B 0%Z))).
  Proof.
    intro Hn. rewrite tally_cells by (unfold K; lia). unfold reports. cbn [rsum]. rewrite rsum_map, cell_nothing, cell_at_bound.
    do 2 f_equal. apply rsum_ext. intros j _. now rewrite cell_above.
  Qed.

  (** ** Counts one apart *)
  Let p := ratio_below en ed 1 1.
  Let e := eps en ed.

  Lemma ratio_facts : (0 <= p)%Z /\ IZR p / 2 ^ 128 <= exp e.
  Proof.
    destruct facts as ((En & Ed & _) & _). destruct (ratio_below_sound en ed 1 1 En Ed ltac:(lia) ltac:(lia)) as [P H].
    replace (IZR en / IZR ed * (1 / 1)) with e in H by (unfold e, eps, Rdiv; rewrite Rinv_1; ring). now split.
  Qed.

  Lemma one_term q x y : 0 <= q <= 1 -> (0 <= y)%Z -> q * IZR x <= exp e * (q * IZR y) + IZR (beyond p x y) / 2 ^ 128.
  Proof.
    intros Hq Hy. destruct ratio_facts as [_ Hp]. pose proof (term_below p x y e Hy Hp) as T. fold (beyond p x y) in T.
    set (b := IZR (beyond p x y) / 2 ^ 128) in *. clearbody b. set (a := IZR x) in *. set (c := exp e * IZR y) in *.
    replace (exp e * (q * IZR y)) with (q * c) by (unfold c; ring).
    pose proof (Rmax_l 0 (a - c)). pose proof (Rmax_r 0 (a - c)). nra.
  Qed.

  Lemma both_nonneg i : (0 <= nth i B 0)%Z.
  Proof.
    destruct facts as (_ & Lw & Hk & Ln & Pw & Pn & _). unfold B, both. destruct i as [|i]; cbn [nth]; [lia|].
    rewrite add_lists_nth by (cbn [length]; lia). pose proof (nth_nonneg wide i Pw).
    assert (0 <= nth i (0%Z :: narrow) 0)%Z by (destruct i; cbn [nth]; [lia|now apply nth_nonneg]). lia.
  Qed.

  Lemma both_length : length B = (k + k + 2)%nat.
  Proof. destruct facts as (_ & Lw & _). unfold B, both. cbn [length]. rewrite add_lists_length. lia. Qed.

  Lemma zsum_nonneg l : forallb (Z.leb 0) l = true -> (0 <= Zsum l)%Z.
  Proof.
    induction l as [|x l IH]; cbn [forallb]; intro H; [cbn; lia|]. apply andb_true_iff in H as [H1 H2].
    apply Z.leb_le in H1. specialize (IH H2). cbn [Zsum fold_right]. unfold Zsum in *. lia.
  Qed.

  Lemma firstn_nonneg l i : forallb (Z.leb 0) l = true -> (0 <= Zsum (firstn i l))%Z.
  Proof.
    intro H. apply zsum_nonneg. rewrite forallb_forall in *. intros x Hx. apply H.
    rewrite <- (firstn_skipn i l). apply in_or_app. now left.
  Qed.

  Lemma nothing_nonneg n : (0 <= nothing n)%Z.
  Proof.
    destruct facts as (_ & _ & _ & _ & Pw & Pn & _). unfold nothing.
    pose proof (firstn_nonneg wide (k + k + 1 - n) Pw). pose proof (firstn_nonneg narrow (k + k - 1 - n) Pn). lia.
  Qed.

  Lemma at_bound_nonneg n : (0 <= at_bound narrow k n)%Z.
  Proof.
    destruct facts as (_ & _ & _ & _ & _ & Pn & _). unfold at_bound. destruct (n <? k + k)%nat; [|lia]. now apply nth_nonneg.
  Qed.

  (** All reports above k, once the terms of both counts stand in a list. *)
  Lemma above_terms (T : list Z) q a c : (forall o, 0 <= q o <= 1) -> (forall i, (0 <= nth i T 0)%Z) ->
    (forall j, (beyond p (nth (a + j) B 0) (nth (c + j) B 0) <= nth (a + j) T 0)%Z) -> forall m,
    rsum (seq 0 m) (fun j => q (K + 1 + Z.of_nat j)%Z * IZR (nth (a + j) B 0%Z)) <=
    exp e * rsum (seq 0 m) (fun j => q (K + 1 + Z.of_nat j)%Z * IZR (nth (c + j) B 0%Z)) + IZR (Zsum (skipn a T)) / 2 ^ 128.
  Proof.
    intros Hq PT HT m. eapply Rle_trans with
      (rsum (seq 0 m) (fun j => exp e * (q (K + 1 + Z.of_nat j)%Z * IZR (nth (c + j) B 0%Z)) + / 2 ^ 128 * IZR (nth (a + j) T 0%Z))).
    - apply rsum_le. intros j _. pose proof (one_term _ (nth (a + j) B 0%Z) _ (Hq (K + 1 + Z.of_nat j)%Z) (both_nonneg (c + j))) as H.
      specialize (HT j). apply IZR_le in HT. assert (0 < / 2 ^ 128) by (apply Rinv_0_lt_compat; lra).
      unfold Rdiv in H. nra.
    - rewrite rsum_plus, !rsum_scale. pose proof (last_terms T m a PT) as H.
      assert (0 < / 2 ^ 128) by (apply Rinv_0_lt_compat; lra). unfold Rdiv. nra.
  Qed.

  Lemma terms_nonneg high low i : (0 <= nth i (terms p high low) 0)%Z.
  Proof.
    unfold terms. destruct (nth_in_or_default i (map (fun xy => beyond p (fst xy) (snd xy)) (combine high low)) 0%Z) as [H| ->]; [|lia].
    apply in_map_iff in H as (xy & <- & _). apply beyond_nonneg.
  Qed.

  Lemma beyond_zero y : (0 <= y)%Z -> beyond p 0 y = 0%Z.
  Proof. destruct ratio_facts as [P _]. intro H. unfold beyond. rewrite Z.shiftl_0_l. nia. Qed.

  Definition more := terms p B (0%Z :: B).
  Definition fewer := terms p B (add_lists wide (0%Z :: narrow) ++ [0%Z]).

  Lemma more_terms a j : (1 <= a)%nat -> (beyond p (nth (a + j) B 0) (nth (a - 1 + j) B 0) <= nth (a + j) more 0)%Z.
  Proof.
    intro Ha. destruct (Nat.lt_ge_cases (a + j) (length B)) as [L|L].
    - unfold more. rewrite terms_nth by (try (cbn [length]; lia); exact L).
      replace (nth (a + j) (0%Z :: B) 0%Z) with (nth (a - 1 + j) B 0%Z); [lia|].
      now replace (a + j)%nat with (S (a - 1 + j)) by lia.
    - rewrite (nth_overflow B) by exact L. rewrite beyond_zero by apply both_nonneg. apply terms_nonneg.
  Qed.

  Lemma fewer_terms a j : (beyond p (nth (a + j) B 0) (nth (S a + j) B 0) <= nth (a + j) fewer 0)%Z.
  Proof.
    destruct (Nat.lt_ge_cases (a + j) (length B)) as [L|L].
    - unfold fewer. rewrite terms_nth; [|left; rewrite app_length; unfold B, both; cbn [length]; lia|exact L].
      apply Z.eq_le_incl. f_equal. cbn [Nat.add]. unfold B at 1, both at 1. cbn [nth].
      destruct (Nat.lt_ge_cases (a + j) (length (add_lists wide (0%Z :: narrow)))) as [M|M].
      + now rewrite app_nth1.
      + rewrite (nth_overflow (add_lists _ _)) by exact M. rewrite app_nth2 by exact M.
        destruct (a + j - length (add_lists wide (0%Z :: narrow)))%nat as [|[|?]]; reflexivity.
    - rewrite (nth_overflow B) by exact L. rewrite beyond_zero by apply both_nonneg. apply terms_nonneg.
  Qed.

  Definition allowed : R := IZR dn / IZR dd * IZR TOTAL.

  Lemma total_pos : 0 < IZR TOTAL.
  Proof. apply IZR_pos. reflexivity. Qed.

  Lemma within x : (dd * x <= dn * TOTAL * 2 ^ EXP_BITS)%Z -> IZR x / 2 ^ 128 <= allowed.
  Proof.
    intro H. destruct facts as ((_ & _ & _ & Dd) & _). apply IZR_pos in Dd. rewrite two128. apply IZR_le in H.
    rewrite !mult_IZR in H. assert (HQ : 0 < IZR (2 ^ EXP_BITS)) by (apply IZR_pos; reflexivity).
    unfold allowed. set (Q := IZR (2 ^ EXP_BITS)) in *. set (s := IZR x) in *. clearbody Q s.
    apply Rmult_le_reg_r with (IZR dd * Q); [now apply Rmult_lt_0_compat|].
    replace (s / Q * (IZR dd * Q)) with (IZR dd * s) by (field; lra).
    replace (IZR dn / IZR dd * IZR TOTAL * (IZR dd * Q)) with (IZR dn * IZR TOTAL * Q) by (field; lra). exact H.
  Qed.

  Lemma upto_spec n : (nth (k + k + 1 - n) (prefix_sums 0 wide) 0
      + nth (Nat.min (k + k - 1 - n) (length narrow)) (prefix_sums 0 narrow) 0 = nothing n)%Z.
  Proof.
    destruct facts as (_ & Lw & Hk & Ln & _). unfold nothing. rewrite !prefix_sums_nth by lia.
    destruct Ln as [Ln|Ln].
    - apply length_zero_iff_nil in Ln. subst narrow. rewrite !firstn_nil. reflexivity.
    - now rewrite Nat.min_l by lia.
  Qed.

  Lemma checked n : (n < k + k + 2)%nat ->
    IZR (beyond p (nothing n) (nothing (S n)) + beyond p (at_bound narrow k n) (at_bound narrow k (S n))
         + Zsum (skipn (k + k + 2 - n) more)) / 2 ^ 128 <= allowed /\
    IZR (beyond p (nothing (S n)) (nothing n) + beyond p (at_bound narrow k (S n)) (at_bound narrow k n)
         + Zsum (skipn (k + k + 1 - n) fewer)) / 2 ^ 128 <= allowed.
  Proof.
    intro Hn. pose proof accepted as H. unfold check_threshold in H. cbv zeta in H. fold k p B in H.
    apply andb_true_iff in H as [_ H]. rewrite forallb_forall in H.
    specialize (H n ltac:(apply in_seq; lia)). apply andb_true_iff in H as [H1 H2]. apply Z.leb_le in H1, H2.
    rewrite !upto_spec, suffix_sums_nth in H1. rewrite !upto_spec, suffix_sums_nth in H2. split; now apply within.
  Qed.

  Lemma near_small n q : (n < k + k + 2)%nat -> (forall o, 0 <= q o <= 1) ->
    tally (Z.of_nat n) q <= exp e * tally (Z.of_nat (S n)) q + allowed /\
    tally (Z.of_nat (S n)) q <= exp e * tally (Z.of_nat n) q + allowed.
  Proof.
    intros Hn Hq. destruct (checked n Hn) as [C1 C2]. rewrite !tally_spec by lia.
    replace (k + k + 2 - S n)%nat with (k + k + 1 - n)%nat by lia.
    rewrite !plus_IZR in C1, C2. unfold Rdiv in C1, C2. rewrite !Rmult_plus_distr_r in C1, C2. split.
    - pose proof (one_term (q 0%Z) (nothing n) (nothing (S n)) (Hq _) (nothing_nonneg _)) as H1.
      pose proof (one_term (q K) (at_bound narrow k n) (at_bound narrow k (S n)) (Hq _) (at_bound_nonneg _)) as H2.
      pose proof (above_terms more q (k + k + 2 - n) (k + k + 1 - n) Hq (terms_nonneg B (0%Z :: B))) as H3.
      assert (T : forall j, (beyond p (nth (k + k + 2 - n + j) B 0) (nth (k + k + 1 - n + j) B 0) <= nth (k + k + 2 - n + j) more 0)%Z).
      { intro j. replace (k + k + 1 - n)%nat with (k + k + 2 - n - 1)%nat by lia. apply more_terms. lia. }
      specialize (H3 T (k + k + 2)%nat). unfold Rdiv in H1, H2, H3. lra.
    - pose proof (one_term (q 0%Z) (nothing (S n)) (nothing n) (Hq _) (nothing_nonneg _)) as H1.
      pose proof (one_term (q K) (at_bound narrow k (S n)) (at_bound narrow k n) (Hq _) (at_bound_nonneg _)) as H2.
      pose proof (above_terms fewer q (k + k + 1 - n) (k + k + 2 - n) Hq (terms_nonneg B _)) as H3.
      assert (T : forall j, (beyond p (nth (k + k + 1 - n + j) B 0) (nth (k + k + 2 - n + j) B 0) <= nth (k + k + 1 - n + j) fewer 0)%Z).
      { intro j. replace (k + k + 2 - n)%nat with (S (k + k + 1 - n)) by lia. apply fewer_terms. }
      specialize (H3 T (k + k + 2)%nat). unfold Rdiv in H1, H2, H3. lra.
  Qed.

  (** Above 2k every number is reported, and moves with its count. *)
  Lemma tally_moves n m q : (2 * K + 1 <= n)%Z -> (0 <= m)%Z -> tally (n + m) q = tally n (fun o => q (o + m)%Z).
  Proof.
    intros Hn Hm. unfold tally. apply rsum_ext. intros x Hx. do 2 f_equal.
    destruct (outcome_cases x Hx) as [(i & Hi & ->)|(i & Hi & ->)]; cbn [raw].
    - destruct (Z.ltb_spec K (n + m + (Z.of_nat i - K))), (Z.ltb_spec K (n + (Z.of_nat i - K))); lia.
    - destruct (Z.ltb_spec (K - 1) (n + m + (Z.of_nat i - (K - 1)))), (Z.ltb_spec (K - 1) (n + (Z.of_nat i - (K - 1)))); lia.
  Qed.

  Theorem near_counts n q : (forall o, 0 <= q o <= 1) ->
    tally (Z.of_nat n) q <= exp e * tally (Z.of_nat (S n)) q + allowed /\
    tally (Z.of_nat (S n)) q <= exp e * tally (Z.of_nat n) q + allowed.
  Proof.
    intro Hq. destruct (Nat.lt_ge_cases n (k + k + 2)) as [L|L]; [now apply near_small|].
    set (m := (Z.of_nat n - (2 * K + 1))%Z).
    replace (Z.of_nat n) with (Z.of_nat (k + k + 1) + m)%Z by (unfold m, K; lia).
    replace (Z.of_nat (S n)) with (Z.of_nat (S (k + k + 1)) + m)%Z by (unfold m, K; lia).
    rewrite !tally_moves by (unfold m, K; lia). apply near_small; [lia|]. intro o. apply Hq.
  Qed.

  (** ** The law *)
  Definition one_apart (a b : nat) : Prop := b = S a \/ a = S b.

  Lemma raw_nonneg n x : (0 <= n)%Z -> In x (outcomes wide narrow) -> (0 <= raw n x)%Z.
  Proof.
    intros Hn Hx. destruct facts as (_ & _ & Hk & _). destruct (outcome_cases x Hx) as [(i & Hi & ->)|(i & Hi & ->)]; cbn [raw].
    - destruct (Z.ltb_spec K (n + (Z.of_nat i - K))); unfold K in *; lia.
    - destruct (Z.ltb_spec (K - 1) (n + (Z.of_nat i - (K - 1)))); unfold K in *; lia.
  Qed.

  Lemma law_as_tally size n S : Pr (threshold_law wide narrow size) n S =
    tally (Z.of_nat n) (fun o => if S (Z.to_nat (Z.min (Z.of_nat size) o)) then 1 else 0) / IZR TOTAL.
  Proof.
    unfold Pr. cbn [outs mass threshold_law].
    transitivity (rsum (seq 0 (Datatypes.S size)) (fun o => / IZR TOTAL * rsum (outcomes wide narrow) (fun x =>
      if (Z.min (Z.of_nat size) (raw (Z.of_nat n) x) =? Z.of_nat o)%Z then (if S o then IZR (weight_of x) else 0) else 0))).
    { apply rsum_ext. intros o _. destruct (S o).
      - unfold Rdiv. ring.
      - rewrite all_zero; [ring|]. intros x _. now destruct (_ =? _)%Z. }
    rewrite rsum_scale, rsum_swap. unfold Rdiv. rewrite Rmult_comm. f_equal. unfold tally. apply rsum_ext. intros x Hx.
    rewrite (pick_nat (fun o => if S o then IZR (weight_of x) else 0)).
    - destruct (S _); ring.
    - pose proof (raw_nonneg (Z.of_nat n) x ltac:(lia) Hx). lia.
  Qed.

  (** What the checker accepts is (epsilon, delta)-private for counts one apart. *)
  Theorem check_threshold_sound size : approx one_apart (eps en ed) (IZR dn / IZR dd) (threshold_law wide narrow size).
  Proof.
    intros a b Hab S. rewrite !law_as_tally. pose proof total_pos as HT. fold e.
    set (q := fun o => if S (Z.to_nat (Z.min (Z.of_nat size) o)) then 1 else 0).
    assert (Hq : forall o, 0 <= q o <= 1) by (intro o; unfold q; destruct (S _); lra).
    assert (H : tally (Z.of_nat a) q <= exp e * tally (Z.of_nat b) q + allowed).
    { destruct Hab as [-> | ->]; apply (near_counts _ q Hq). }
    unfold allowed in H. apply Rmult_le_reg_r with (IZR TOTAL); [exact HT|].
    replace (tally (Z.of_nat a) q / IZR TOTAL * IZR TOTAL) with (tally (Z.of_nat a) q) by (field; lra).
    replace ((exp e * (tally (Z.of_nat b) q / IZR TOTAL) + IZR dn / IZR dd) * IZR TOTAL)
      with (exp e * tally (Z.of_nat b) q + IZR dn / IZR dd * IZR TOTAL); [exact H|].
    destruct facts as ((_ & _ & _ & Dd) & _). apply IZR_pos in Dd. field. lra.
  Qed.

  Lemma weight_nonneg x : In x (outcomes wide narrow) -> 0 <= IZR (weight_of x).
  Proof.
    intro Hx. destruct facts as (_ & _ & _ & _ & Pw & Pn & _). apply IZR_le.
    destruct (outcome_cases x Hx) as [(i & _ & ->)|(i & _ & ->)]; unfold weight_of; cbn [snd]; now apply nth_nonneg.
  Qed.

  Theorem threshold_distribution size n : distribution (threshold_law wide narrow size) n.
  Proof.
    pose proof total_pos as HT. split.
    - intro o. cbn [mass threshold_law]. apply Rmult_le_pos; [|left; now apply Rinv_0_lt_compat].
      apply rsum_nonneg. intros x Hx. destruct (_ =? _)%Z; [now apply weight_nonneg|lra].
    - rewrite law_as_tally. unfold tally. cbv beta iota.
      destruct facts as (_ & _ & _ & _ & _ & _ & T).
      assert (E : forall bound l, rsum (outcomes_of bound l) (fun x => IZR (weight_of x) * 1) = IZR (Zsum l)).
      { intros bound l. unfold outcomes_of. rewrite rsum_map. rewrite <- (firstn_all l) at 2. rewrite <- sum_upto.
        apply rsum_ext. intros i Hi. apply in_seq in Hi. cbn [weight_of snd].
        destruct (Nat.ltb_spec i (length l)); [ring|lia]. }
      unfold outcomes. rewrite rsum_app, !E, <- plus_IZR, T. field. lra.
  Qed.

  Theorem nobody_unreported size o : (1 <= o)%nat -> mass (threshold_law wide narrow size) 0%nat o = 0.
  Proof.
    intro Ho. cbn [mass threshold_law]. rewrite all_zero; [unfold Rdiv; ring|]. intros x Hx.
    destruct facts as (_ & _ & Hk & _). replace (raw (Z.of_nat 0) x) with 0%Z.
    - rewrite Z.min_r by lia. destruct (Z.eqb_spec 0 (Z.of_nat o)); [lia|reflexivity].
    - destruct (outcome_cases x Hx) as [(i & Hi & ->)|(i & Hi & ->)]; cbn [raw].
      + destruct (Z.ltb_spec K (Z.of_nat 0 + (Z.of_nat i - K))); [unfold K in *; lia|reflexivity].
      + destruct (Z.ltb_spec (K - 1) (Z.of_nat 0 + (Z.of_nat i - (K - 1)))); [unfold K in *; lia|reflexivity].
  Qed.
End Accepted.

(** * Passports *)

(** Counts without gaps, so that a position is its count. *)
Lemma tick_of_count p : query_ok p = true -> asked p = Count -> forall j, (j < positions p)%nat -> tick_at p j = Z.of_nat j.
Proof.
  intros Q A j Hj. unfold query_ok in Q. cbv zeta in Q. rewrite !andb_true_iff in Q.
  repeat match goal with X : _ /\ _ |- _ => destruct X end.
  match goal with X : scale_ok _ = true |- _ => unfold scale_ok in X; rewrite !andb_true_iff in X; destruct X as [_ T] end.
  match goal with X : kind_ok _ = true |- _ => unfold kind_ok in X; rewrite A, !andb_true_iff in X; destruct X as [[G _] _] end.
  unfold positions, tick_at, regular in *. destruct (ticks (answers p)) as [n|l]; [reflexivity|]. cbn [size_of last_tick] in *.
  apply Z.eqb_eq in G. rewrite length_Z_spec in *. destruct l as [|t0 l]; [discriminate|].
  cbn [places_ok] in T. apply andb_true_iff in T as [T0 T]. apply Z.eqb_eq in T0. apply listed_regular; auto; lia.
Qed.

Theorem threshold_passport p wide narrow delta : check_delta_threshold p wide narrow delta = true ->
  forall j k d, (j < positions p)%nat -> (k < positions p)%nat -> price (tick_at p) (near_ticks p) j k = Some d ->
  forall S, Pr (threshold_law wide narrow (positions p - 1)) j S <=
            exp (real (epsilon p)) * Pr (threshold_law wide narrow (positions p - 1)) k S + real delta.
Proof.
  intros H j k d Hj Hk Hd S. unfold check_delta_threshold in H. rewrite !andb_true_iff in H.
  destruct H as [[[[Q C] D0] D1] A]. unfold counts_persons in C.
  destruct (asked p) eqn:EA; try discriminate. destruct (near p) as [r| | |] eqn:EN; try discriminate.
  destruct (labels p); try discriminate. rewrite !andb_true_iff in C. destruct C as [[R _] _]. apply Z.eqb_eq in R. subst r.
  unfold near_ticks in Hd. rewrite EN in Hd. cbn [price] in Hd.
  rewrite !(tick_of_count p Q EA) in Hd by assumption.
  destruct (Z.leb_spec (Z.abs (Z.of_nat j - Z.of_nat k)) 1) as [L|L]; [|discriminate].
  destruct (Nat.eq_dec j k) as [->|Hne].
  - pose proof (pr_bounds _ _ S (threshold_distribution _ _ _ _ _ _ A (positions p - 1) k)) as B.
    destruct (facts _ _ _ _ _ _ A) as ((En & Ed & _) & _).
    assert (E : 0 <= real (epsilon p)).
    { apply Rmult_le_pos; [now apply IZR_le|]. left. apply Rinv_0_lt_compat. now apply IZR_pos. }
    apply exp_le in E. rewrite exp_0 in E. apply Z.ltb_lt in D0. apply Z.ltb_lt in D1.
    assert (0 <= real delta).
    { apply Rmult_le_pos; [apply IZR_le; lia|]. left. apply Rinv_0_lt_compat. apply IZR_pos. lia. }
    nra.
  - apply (check_threshold_sound _ _ _ _ _ _ A (positions p - 1)). unfold one_apart. lia.
Qed.
