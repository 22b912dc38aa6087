(** The passport of a quantile as the reader hands it over, and the checker that `inbounds-check` runs on it.

    A score table over the values, one with a pace for each side, or a matrix over the central records, of which the true
    quantile alone is the shortest.

    quantile_scores      what is accepted with a score table is accepted by [check_scores], so that its theorems apply
    quantile_passport    for a public size and one record a person: all neighbouring groups, all sets of reports
    sided_passport       the same for a sided table
    central_passport     the same for a matrix over central records, and that its masses sum to one
    answer_private       for a matrix over the quantile alone: any two groups, all sets of reports
    several_passport     several quantiles in one draw: all groups that differ in one person's records, all sets of reports
    over_sizes_passport  the same where the size is secret: all groups with or without one person's records
    counts_passport      noisy counts, whether the size is public or not *)
From Coq Require Import ZArith Reals List Bool Lra Lia Arith.
From Inbounds Require Import Exp Privacy Matrix Noise Neighbours Passport Kinds Scores Tight Depth ScoreCheck Lengths Sides Central Joint Sizes Counts.
Import ListNotations.
Open Scope Z_scope.

Inductive quantile_law :=
| ScoreTable (table : list Z) (stride : Z) (deeper : list Z)
| SidedTable (table below above : list Z) (deeper : Z)  (* first, stride, spread and level of the spread of each side *)
| CentralTable (lead count : Z) (rows : list (list Z)).  (* the records of rank lead .. lead + count - 1 *)

Record quantile := Quantile {
  grid : scale;
  share_at : frac;      (* 0 the minimum, 1/2 the median, 1 the maximum *)
  records : Z;          (* public, or at most *)
  is_public : bool;
  missing_at : Z;
  per_person : Z;
  at_epsilon : frac;
  by_law : quantile_law
}.

Definition MOST_PARTS := 10 ^ 6.
Definition MOST_RECORDS := 2 ^ 40.

Definition share_ok (a : frac) : bool :=
  is_number a && (0 <=? num a) && (num a <=? den a) && (den a <=? MOST_PARTS * Z.gcd (num a) (den a)).

Definition range_ok (e : frac) : bool := is_positive e && frac_le (Frac 1 (10 ^ 9)) e && frac_le e (whole 64).

Definition quantile_ok (q : quantile) : bool :=
  let n := size_of (ticks (grid q)) in
  scale_ok (grid q) && regular (ticks (grid q)) && (2 <=? n) && (n <=? MOST_CELLS) && share_ok (share_at q)
  && (1 <=? records q) && (records q <=? MOST_RECORDS) && (0 <=? missing_at q) && (missing_at q <? n)
  && (1 <=? per_person q) && (per_person q <=? MOST_RECORDS) && range_ok (at_epsilon q).

Definition whole_side (first stride spread near : Z) : option side :=
  if (0 <=? first) && (0 <=? stride) && (0 <=? spread) && (0 <=? near)
  then Some (Side (Z.to_nat first) (Z.to_nat stride) (Z.to_nat spread) (Z.to_nat near)) else None.

(** The level of a spread is 0 where it is not written. *)
Definition side_of (numbers : list Z) : option side :=
  match numbers with
  | [first; stride; spread] => whole_side first stride spread 0
  | [first; stride; spread; near] => whole_side first stride spread near
  | _ => None
  end.

Definition MATRIX_LIMIT := 2 ^ 24.

(** The rank of the quantile among the declared number of records, from 1. *)
Definition rank_among (a : frac) (n : Z) : Z := Z.max 1 (- (- (num a * n) / den a)).
Definition rank_of (q : quantile) : Z := rank_among (share_at q) (records q).

(** The window holds the quantile and no other record: then any two groups may be neighbours. *)
Definition is_answer (q : quantile) (lead count : Z) : bool := (count =? 1) && (lead =? rank_of q).

Definition check_quantile (q : quantile) : bool :=
  let n := size_of (ticks (grid q)) in
  let en := num (at_epsilon q) in
  let ed := den (at_epsilon q) in
  quantile_ok q &&
  match by_law q with
  | ScoreTable table stride deeper =>
      (0 <=? stride) && forallb (Z.leb 0) deeper
      && check_scores table (Z.to_nat stride) (map Z.to_nat deeper) (n - 1) en ed
  | SidedTable table below above deeper =>
      is_public q && (per_person q =? 1) && (0 <=? deeper)
      && match side_of below, side_of above with
         | Some b, Some a => check_sides table b a (Z.to_nat deeper) (n - 1) en ed
         | _, _ => false
         end
  | CentralTable lead count W =>
      let columns := match W with [] => 0 | row :: _ => length_Z 0 row end in
      (is_answer q lead count || is_public q && (per_person q =? 1))
      && (1 <=? lead) && (1 <=? count) && (lead + count - 1 <=? records q)
      && (length_Z 0 W =? n) && (columns * n <=? MATRIX_LIMIT)
      && check_central (Z.to_nat (n - 1)) (Z.to_nat count) (Z.to_nat columns) W en ed
  end.

Definition width_of (q : quantile) : nat := Z.to_nat (size_of (ticks (grid q)) - 1).

Section Accepted.
  Variable q : quantile.
  Hypothesis accepted : check_quantile q = true.

  Lemma width_is : Z.of_nat (width_of q) = size_of (ticks (grid q)) - 1.
  Proof.
    pose proof accepted as H. unfold check_quantile, quantile_ok in H. rewrite !andb_true_iff in H.
    destruct H as [[[[[[[[[[[[_ _] H] _] _] _] _] _] _] _] _] _] _]. apply Z.leb_le in H. unfold width_of. lia.
  Qed.

  Theorem quantile_scores table stride deeper : by_law q = ScoreTable table stride deeper ->
    check_scores table (Z.to_nat stride) (map Z.to_nat deeper) (Z.of_nat (width_of q)) (num (at_epsilon q)) (den (at_epsilon q)) = true.
  Proof.
    intro E. rewrite width_is. pose proof accepted as H. unfold check_quantile in H. rewrite E in H. rewrite !andb_true_iff in H. tauto.
  Qed.

  Open Scope R_scope.

  (** The k-th smallest of the records, one of them changed. *)
  Theorem quantile_passport table stride deeper k : by_law q = ScoreTable table stride deeper ->
    let w := width_of q in
    forall db db', replaced db db' -> (1 <= k <= length db)%nat ->
    (forall v, In v db -> v <= w)%nat -> (forall v, In v db' -> v <= w)%nat ->
    forall d d', has_depth (rank_lengths w k db) d -> has_depth (rank_lengths w k db') d' ->
    forall S, Pr (score_law table (Z.to_nat stride) (map Z.to_nat deeper) (Z.of_nat w)) (rank_lengths w k db, d) S
              <= exp (real (at_epsilon q))
                 * Pr (score_law table (Z.to_nat stride) (map Z.to_nat deeper) (Z.of_nat w)) (rank_lengths w k db', d') S.
  Proof. intros E w. apply (quantile_promise _ _ _ w _ _ k (quantile_scores _ _ _ E)). Qed.

  Theorem sided_passport table below above deeper k : by_law q = SidedTable table below above deeper ->
    let w := width_of q in
    exists b a, side_of below = Some b /\ side_of above = Some a /\
    forall db db', replaced db db' -> (1 <= k <= length db)%nat ->
    (forall v, In v db -> v <= w)%nat -> (forall v, In v db' -> v <= w)%nat ->
    forall e e', has_depth (rank_lengths w k db) e -> has_depth (rank_lengths w k db') e' ->
    forall S, Pr (sided_law table b a (Z.to_nat deeper) (Z.of_nat w) k) (db, e) S
              <= exp (real (at_epsilon q)) * Pr (sided_law table b a (Z.to_nat deeper) (Z.of_nat w) k) (db', e') S.
  Proof.
    intros E w. pose proof accepted as H. unfold check_quantile in H. rewrite E in H. rewrite !andb_true_iff in H.
    destruct H as [_ [_ H]]. destruct (side_of below) as [b|]; [|discriminate]. destruct (side_of above) as [a|]; [|discriminate].
    exists b, a. split; [reflexivity|]. split; [reflexivity|].
    rewrite <- width_is in H. fold w in H. intros db db' Hd Hk Hw Hw' e e' D D'.
    apply (sides_promise table b a (Z.to_nat deeper) (Z.of_nat w) _ _ H k db db' e e'); rewrite ?Nat2Z.id; assumption.
  Qed.

  Lemma central_accepted lead count W : by_law q = CentralTable lead count W ->
    W <> [] /\ (1 <= Z.to_nat lead)%nat /\ exists columns,
    check_central (width_of q) (Z.to_nat count) columns W (num (at_epsilon q)) (den (at_epsilon q)) = true.
  Proof.
    intro E. pose proof accepted as H. unfold check_quantile in H. rewrite E in H. rewrite !andb_true_iff in H.
    destruct H as [Q [[[[[[_ L] _] _] R] _] H]]. apply Z.leb_le in L. apply Z.eqb_eq in R. rewrite length_Z_spec in R.
    pose proof width_is as Wi. split; [intros ->; cbn in R; lia|]. split; [lia|]. eexists. unfold width_of. exact H.
  Qed.

  (** The records of rank lead .. lead + count - 1; one record changed, or of more records than those one comes or goes. *)
  Theorem central_passport lead count W : by_law q = CentralTable lead count W ->
    let w := width_of q in
    let before := (Z.to_nat lead - 1)%nat in
    private (central_near before (Z.to_nat count) w) (real (at_epsilon q)) (central_law W before (Z.to_nat count) w)
    /\ forall db, (forall v, In v db -> v <= w)%nat -> (before + Z.to_nat count <= length db)%nat ->
       distribution (central_law W before (Z.to_nat count) w) db.
  Proof.
    intros E w before. destruct (central_accepted _ _ _ E) as (Ne & _ & columns & H). split.
    - apply (central_promise _ _ _ _ _ _ H).
    - intros db Hw Hn. now apply (central_distribution _ _ _ _ _ _ H).
  Qed.

  (** The quantile alone, whatever it is of any two groups; its columns begin with the largest value. *)
  Theorem answer_private lead W {D} (answer : D -> nat) : by_law q = CentralTable lead 1 W ->
    (forall db, answer db <= width_of q)%nat ->
    private (fun _ _ => True) (real (at_epsilon q)) (ask (fun db => width_of q - answer db)%nat (law TOTAL W)).
  Proof.
    intros E Ha. destruct (central_accepted _ _ _ E) as (_ & _ & columns & H). exact (answer_promise _ _ _ _ _ _ H answer eq_refl Ha).
  Qed.
End Accepted.

(** * Several quantiles in one draw *)
Open Scope Z_scope.

Inductive several_law :=
  | Levels (weight : Z) (spacing : list Z)                            (* of a public size *)
  | LevelsOver (weight : Z) (spacing sizes : list Z) (floor : Z)      (* of a secret one *)
  | NoiseOnCounts (table : list Z).                                   (* of either *)

Record several := Several {
  several_grid : scale;
  shares_at : list frac;        (* rising *)
  several_records : Z;
  several_public : bool;
  several_missing : Z;
  several_per_person : Z;
  several_epsilon : frac;
  several_by : several_law
}.

Definition MOST_QUANTILES := 100.

Fixpoint shares_rise (l : list frac) : bool :=
  match l with a :: (b :: _) as l' => negb (frac_le b a) && shares_rise l' | _ => true end.

(** Quantiles of the same record are one rank. *)
Fixpoint ranks_once (last : Z) (n : Z) (l : list frac) : list Z :=
  match l with
  | [] => []
  | a :: l' => let k := rank_among a n in if k =? last then ranks_once last n l' else k :: ranks_once k n l'
  end.

Definition several_ok (q : several) : bool :=
  let n := size_of (ticks (several_grid q)) in
  let count := length_Z 0 (shares_at q) in
  scale_ok (several_grid q) && regular (ticks (several_grid q)) && (2 <=? n) && (n <=? MOST_CELLS)
  && forallb share_ok (shares_at q) && shares_rise (shares_at q) && (2 <=? count) && (count <=? MOST_QUANTILES)
  && (1 <=? several_records q) && (several_records q <=? MOST_RECORDS) && (0 <=? several_missing q) && (several_missing q <? n)
  && (1 <=? several_per_person q) && (several_per_person q <=? MOST_RECORDS) && range_ok (several_epsilon q).

(** One person moves so many counts by 1: two for each record that changes, one for each that comes or goes. *)
Definition moves_of (q : several) : Z := (if several_public q then 2 else 1) * several_per_person q.

Definition check_several (q : several) : bool :=
  several_ok q
  && match several_by q with
     | Levels weight spacing =>
         several_public q && (length_Z 0 spacing =? size_of (ticks (several_grid q)))
         && check_joint weight spacing (ranks_once 0 (several_records q) (shares_at q)) (several_records q)
              (several_per_person q) (num (several_epsilon q)) (den (several_epsilon q))
     | LevelsOver weight spacing sizes floor =>
         negb (several_public q) && (length_Z 0 spacing =? size_of (ticks (several_grid q)))
         && check_sizes weight spacing sizes floor (length_Z 0 (shares_at q))
              (several_per_person q) (num (several_epsilon q)) (den (several_epsilon q))
     | NoiseOnCounts table => check_counts table (moves_of q) (num (several_epsilon q)) (den (several_epsilon q))
     end.

Open Scope R_scope.

Theorem several_passport (q : several) weight spacing : several_by q = Levels weight spacing -> check_several q = true ->
  let w := (length spacing - 1)%nat in
  forall outputs, (forall s, In s outputs -> sound w (several_records q) s) ->
  forall lot any drawn, 0 <= lot <= 1 -> (forall s, 0 <= any s) ->
  (forall db s, (1 - slack) * intended weight spacing (several_records q) outputs lot any db s <= drawn db s
                <= (1 + slack) * intended weight spacing (several_records q) outputs lot any db s) ->
  private (chain (joint_near spacing (several_records q)) (Z.to_nat (several_per_person q))) (real (several_epsilon q))
    (Mechanism outputs drawn).
Proof.
  intros E H w outputs Sound lot any drawn Lot Any Near. unfold check_several in H. rewrite E, !andb_true_iff in H.
  destruct H as [_ [_ H]]. exact (joint_promise _ _ _ _ _ _ _ H outputs Sound lot any drawn Lot Any Near).
Qed.

(** Groups of any size that differ in the records of one person. *)
Theorem over_sizes_passport (q : several) weight spacing sizes floor :
  several_by q = LevelsOver weight spacing sizes floor -> check_several q = true ->
  forall outputs ways, (forall o n s, In (n, s) (ways o) -> in_order 0 0 s) ->
  forall lot any drawn, 0 <= lot <= 1 -> (forall o, 0 <= any o) ->
  (forall db o, (1 - slack) * intended_over weight spacing floor outputs ways lot any db o <= drawn db o
                <= (1 + slack) * intended_over weight spacing floor outputs ways lot any db o) ->
  private (chain added (Z.to_nat (several_per_person q))) (real (several_epsilon q)) (Mechanism outputs drawn).
Proof.
  intros E H outputs ways Rise lot any drawn Lot Any Near. unfold check_several in H. rewrite E, !andb_true_iff in H.
  destruct H as [_ [_ H]]. exact (sizes_promise _ _ _ _ _ _ _ _ H outputs ways Rise lot any drawn Lot Any Near).
Qed.

(** Whatever the quantiles are computed from the noisy counts is as private ([post_processing]). *)
Theorem counts_passport (q : several) table : several_by q = NoiseOnCounts table -> check_several q = true ->
  forall values outputs,
  private (chain (if several_public q then replaced else added) (Z.to_nat (several_per_person q))) (real (several_epsilon q))
    (noisy_counts table values outputs).
Proof.
  intros E H values outputs. unfold check_several in H. rewrite E, andb_true_iff in H. destruct H as [Ok H].
  assert (P : (0 <= several_per_person q)%Z).
  { unfold several_ok in Ok. rewrite !andb_true_iff in Ok. destruct Ok as [[[_ P] _] _]. apply Z.leb_le in P. lia. }
  pose proof (counts_promise _ _ _ _ H values outputs) as G. unfold moves_of in *. intros db db' C.
  apply (G db db'). destruct (several_public q).
  - replace (Z.to_nat (2 * several_per_person q)) with (2 * Z.to_nat (several_per_person q))%nat by lia. now apply changed_added.
  - now rewrite Z.mul_1_l.
Qed.
