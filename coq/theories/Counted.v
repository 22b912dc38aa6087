(** Counted scores of trusted/sided_scores.py: permute-and-flip over a score that also counts the records at a value, and the
    proof that what [check_sides] accepts, both sides alike, is private for it and a rank of a public size.

    The score of t is max(L - k, k - 1 - F), negative at the quantile alone, and min(max(c - low, 0) / every, most)
    more, where c = F - L records are at t. It moves by at most 1 when a record does, and so does the least score of all.

    score_moves       the score of every value, when a record moves
    counted_promise   for every accepted table, neighbouring groups and every set of reports, as the sampler draws them *)
From Coq Require Import ZArith Reals List Bool Lra Lia Psatz Arith.
From Inbounds Require Import Exp Privacy Matrix Kinds Integral Scores Tight Depth ScoreCheck Lengths Sides.
Import ListNotations.
Open Scope Z_scope.

Definition counted_score (low most every k : nat) (db : list nat) (t : nat) : Z :=
  let F := upto db t in
  let L := Lengths.below db t in
  Z.max (Z.of_nat L - Z.of_nat k) (Z.of_nat k - 1 - Z.of_nat F) + Z.of_nat (Nat.min ((F - L - low) / every) most).

Lemma div_moves e x y : (x <= y <= x + 1 -> x / e <= y / e <= x / e + 1)%nat.
Proof.
  intro H. destruct e as [|e]; [cbn; lia|]. split; [apply Nat.div_le_mono; lia|].
  apply Nat.le_trans with ((x + 1 * S e) / S e)%nat; [apply Nat.div_le_mono; lia|]. rewrite Nat.div_add by lia. lia.
Qed.

Lemma score_moves low most every k db db' t : replaced db db' ->
  counted_score low most every k db t <= counted_score low most every k db' t + 1 /\
  counted_score low most every k db' t <= counted_score low most every k db t + 1.
Proof.
  intro H. pose proof (upto_split db t). pose proof (upto_split db' t). unfold counted_score. cbn zeta.
  pose proof (div_moves every (upto db t - Lengths.below db t - low) (upto db' t - Lengths.below db' t - low)) as D.
  pose proof (div_moves every (upto db' t - Lengths.below db' t - low) (upto db t - Lengths.below db t - low)) as D'.
  generalize dependent ((upto db t - Lengths.below db t - low) / every)%nat.
  generalize dependent ((upto db' t - Lengths.below db' t - low) / every)%nat. intros q' q D D'.
  destruct (replaced_moves db db' H) as [U|U]; specialize (U t); lia.
Qed.

(** M is the least of the scores. *)
Definition is_least (low most every k w : nat) (db : list nat) (M : Z) : Prop :=
  (exists t, (t <= w)%nat /\ counted_score low most every k db t = M) /\
  forall t, (t <= w)%nat -> M <= counted_score low most every k db t.

Lemma least_exists low most every k w db : exists M, is_least low most every k w db M.
Proof.
  unfold is_least. induction w as [|w (M & (t & Ht & Et) & Hl)].
  - exists (counted_score low most every k db 0). split; [exists 0%nat; split; [lia|reflexivity]|].
    intros t Ht. replace t with 0%nat by lia. lia.
  - destruct (Z_le_dec M (counted_score low most every k db (S w))) as [Le|Gt].
    + exists M. split; [exists t; split; [lia|assumption]|]. intros u Hu.
      destruct (Nat.eq_dec u (S w)) as [->|]; [assumption|]. apply Hl. lia.
    + exists (counted_score low most every k db (S w)). split; [exists (S w); split; [lia|reflexivity]|]. intros u Hu.
      destruct (Nat.eq_dec u (S w)) as [->|]; [lia|]. specialize (Hl u ltac:(lia)). lia.
Qed.

Lemma least_moves low most every k w db db' M M' : replaced db db' -> is_least low most every k w db M -> is_least low most every k w db' M' ->
  M <= M' + 1 /\ M' <= M + 1.
Proof.
  intros H ((t & Ht & Et) & Hl) ((t' & Ht' & Et') & Hl').
  pose proof (score_moves low most every k db db' t H). pose proof (score_moves low most every k db db' t' H).
  specialize (Hl t' Ht'). specialize (Hl' t Ht). lia.
Qed.

Definition alike : side := Side 1 1 0 0.

Definition check_counted (table : list Z) (width en ed : Z) : bool := check_sides table alike alike 0 width en ed.

Section Accepted.
  Variables (table : list Z) (low most every : nat) (width en ed : Z).
  Hypothesis accepted : check_counted table width en ed = true.
  Let T := chances table.
  Let r : R := factor (pace table alike).
  Open Scope R_scope.

  Lemma r_one : 1 <= r.
  Proof. exact (pace_one table alike alike 0 width en ed accepted alike). Qed.

  Lemma r_paid : r * r <= allowed width en ed.
  Proof. apply (paid table alike alike 0 width en ed accepted). cbn. tauto. Qed.

  Lemma T_positive' l : 0 < T l.
  Proof. exact (T_positive table alike alike 0 width en ed accepted l). Qed.

  Lemma T_falling' x y : (x <= y)%nat -> T y <= T x.
  Proof. exact (T_falling table alike alike 0 width en ed accepted x y). Qed.

  Lemma T_unit' l : in_unit (T l).
  Proof. exact (T_unit table alike alike 0 width en ed accepted l). Qed.

  Lemma one_level x : T x <= r * T (S x).
  Proof.
    destruct x as [|x].
    - exact (pace_first table alike alike 0 width en ed accepted alike 0%nat).
    - apply (falls_by table alike alike 0 width en ed accepted 1); [|lia|lia].
      exact (pace_step table alike).
  Qed.

  Lemma within_one x y : (y <= S x)%nat -> T x <= r * T y.
  Proof. intro H. pose proof (one_level x). pose proof (T_falling' y (S x) H). pose proof r_one. nra. Qed.

  Lemma within_two x y : (y <= S (S x))%nat -> T x <= r * r * T y.
  Proof.
    intro H. pose proof (one_level x) as A. pose proof (within_one (S x) y H) as B. pose proof r_one.
    pose proof (T_positive' y). pose proof (T_positive' (S x)). nra.
  Qed.

  Lemma within_none x y : (y <= x)%nat -> T x <= 1 * T y.
  Proof. intro H. pose proof (T_falling' y x H). lra. Qed.

  (** * Levels of a group: k the rank, M its least score *)
  Definition counted_level (k : nat) (M : Z) (db : list nat) (t : nat) : nat := Z.to_nat (counted_score low most every k db t - M).

  Lemma counted_pairs w k db db' M M' : replaced db db' -> is_least low most every k w db M -> is_least low most every k w db' M' ->
    exists B A, 1 <= B /\ 1 <= A /\ B * A <= allowed width en ed /\
      forall t, (t <= w)%nat -> moves_within B A (T (counted_level k M db t)) (T (counted_level k M' db' t)).
  Proof.
    intros H Le Le'. pose proof (least_moves _ _ _ _ _ _ _ _ _ H Le Le') as Near. pose proof r_one as R1. pose proof r_paid as Rp.
    assert (Facts : forall t, (t <= w)%nat -> (M <= counted_score low most every k db t /\ M' <= counted_score low most every k db' t /\
      counted_score low most every k db t <= counted_score low most every k db' t + 1 /\
      counted_score low most every k db' t <= counted_score low most every k db t + 1)%Z).
    { intros t Ht. pose proof (score_moves low most every k db db' t H). pose proof (proj2 Le t Ht). pose proof (proj2 Le' t Ht). lia. }
    assert (Which : (M' = M \/ M' = M + 1 \/ M' = M - 1)%Z) by lia.
    destruct Which as [E|[E|E]].
    - exists r, r. repeat split; try lra; try apply T_unit'; specialize (Facts t H0); apply within_one; unfold counted_level; lia.
    - exists 1, (r * r). split; [lra|]. split; [nra|]. split; [lra|]. intros t Ht. specialize (Facts t Ht).
      split; [apply T_unit'|]. split; [apply T_unit'|]. unfold counted_level. split; [apply within_none; lia|apply within_two; lia].
    - exists (r * r), 1. split; [nra|]. split; [lra|]. split; [lra|]. intros t Ht. specialize (Facts t Ht).
      split; [apply T_unit'|]. split; [apply T_unit'|]. unfold counted_level. split; [apply within_two; lia|apply within_none; lia].
  Qed.

  Definition counted_levels (w k : nat) (g : list nat * Z) : list nat := map (counted_level k (snd g) (fst g)) (seq 0 (w + 1)).

  Lemma counted_units q : Forall in_unit (map T q).
  Proof. apply Forall_forall. intros z Hz. apply in_map_iff in Hz as (l & <- & _). apply T_unit'. Qed.

  Lemma counted_flip w k db db' M M' i : replaced db db' -> is_least low most every k w db M -> is_least low most every k w db' M' ->
    flip (map T (counted_levels w k (db, M))) i <= allowed width en ed * flip (map T (counted_levels w k (db', M'))) i.
  Proof.
    intros H Le Le'. destruct (counted_pairs w k db db' M M' H Le Le') as (B & A & HB & HA & HP & HM).
    apply Rle_trans with (B * A * flip (map T (counted_levels w k (db', M'))) i).
    - apply flip_product; auto. unfold counted_levels. rewrite !map_map. cbn [fst snd].
      assert (Sq : forall t, In t (seq 0 (w + 1)) -> (t <= w)%nat) by (intros t Ht; apply in_seq in Ht; lia).
      revert Sq. generalize (seq 0 (w + 1)). intro l. induction l as [|t l IH]; intro Sq; cbn; constructor.
      + apply HM, Sq. now left.
      + apply IH. intros u Hu. apply Sq. now right.
    - apply Rmult_le_compat_r; [apply flip_nonneg, counted_units|assumption].
  Qed.

  (** A group and its least score; the mechanism to reports, as it is drawn. *)
  Definition counted_law (k : nat) : mechanism (list nat * Z) nat :=
    Mechanism (seq 0 (Z.to_nat (width + 1))) (fun g i => drawn (map T (counted_levels (Z.to_nat width) k g)) i).

  Theorem counted_promise k db db' M M' : let w := Z.to_nat width in
    replaced db db' -> is_least low most every k w db M -> is_least low most every k w db' M' ->
    forall S, Pr (counted_law k) (db, M) S <= exp (eps en ed) * Pr (counted_law k) (db', M') S.
  Proof.
    intros w H Le Le'.
    set (near := fun g g' : list nat * Z => replaced (fst g) (fst g') /\
      is_least low most every k w (fst g) (snd g) /\ is_least low most every k w (fst g') (snd g')).
    enough (Q : private near (eps en ed) (counted_law k)) by (apply (Q (db, M) (db', M')); unfold near; cbn; tauto).
    apply pointwise_private. intros g g' (H1 & H2 & H3) i Hi. cbn in *.
    pose proof (counted_flip w k (fst g) (fst g') (snd g) (snd g') i H1 H2 H3) as B. rewrite <- !surjective_pairing in B.
    destruct (facts table alike alike 0 width en ed accepted) as (_ & _ & _ & _ & _ & _ & _ & _ & _ & _ & _ & W & _).
    assert (Ln : forall q, length (map T (counted_levels w k q)) = Z.to_nat (width + 1)).
    { intro q. unfold counted_levels. rewrite !map_length, seq_length. unfold w. lia. }
    destruct (drawn_near (map T (counted_levels w k g)) i (counted_units _)) as [_ Hi'].
    destruct (drawn_near (map T (counted_levels w k g')) i (counted_units _)) as [Lo _].
    rewrite Ln in Hi', Lo. fold (slack width) in Hi', Lo.
    pose proof (slack_small table alike alike 0 width en ed accepted) as Sl.
    pose proof (flip_nonneg (map T (counted_levels w k g')) i (counted_units _)) as P.
    apply Rle_trans with (1 := Hi'). apply Rle_trans with ((1 + slack width) * (allowed width en ed * flip (map T (counted_levels w k g')) i)).
    { apply Rmult_le_compat_l; lra. }
    replace ((1 + slack width) * (allowed width en ed * flip (map T (counted_levels w k g')) i))
      with (exp (eps en ed) * ((1 - slack width) * flip (map T (counted_levels w k g')) i)) by (unfold allowed; field; lra).
    apply Rmult_le_compat_l; [left; apply exp_pos|exact Lo].
  Qed.
End Accepted.
