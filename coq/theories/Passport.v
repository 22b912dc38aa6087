(** A passport as the reader hands it over, the checker that `inbounds-check` runs on it, and the promise of whatever it
    accepts.

    The checker repeats all that Python asks of a query (query/query.py, query/outputs.py, trusted/scale.py,
    mechanism/codec.py) and of a law (mechanism/law.py, trusted/certify.py), limits of size included, so that the two
    verdicts can be compared. Privacy rests on fewer of these conditions, as the proofs show.

    passport_distribution  every position has a law whose masses sum to one
    passport_pointwise     for any two positions j, k whose price is d, and every report i:
                             Pr[i | j] <= exp (epsilon * d) * Pr[i | k]
    passport_private       the same for every set of reports
    passport_graph         for answers on a graph, the same along every path of the length d *)
From Coq Require Import ZArith Reals List Bool Lra Lia Psatz Arith.
From Inbounds Require Import Exp Privacy Matrix Noise Neighbours Graph Response Blocks Designs.
Import ListNotations.
Open Scope Z_scope.

(** * Exact numbers *)
Record frac := Frac { num : Z; den : Z }.

Definition is_number (a : frac) : bool := 0 <? den a.
Definition is_positive (a : frac) : bool := is_number a && (0 <? num a).
Definition frac_le (a b : frac) : bool := num a * den b <=? num b * den a.
Definition frac_eq (a b : frac) : bool := num a * den b =? num b * den a.
Definition frac_times (k : Z) (a : frac) : frac := Frac (k * num a) (den a).
Definition frac_add (a b : frac) : frac := Frac (num a * den b + num b * den a) (den a * den b).
Definition whole (k : Z) : frac := Frac k 1.

(** * What a passport says *)
Inductive places := Even (size : Z) | Listed (ticks : list Z).
Record scale := Scale { first : frac; grid_step : frac; ticks : places }.

Inductive neighbours := ByReach (steps : Z) | AllOfThem | ByMetric (distance : frac) | ByEdges (groups : list group).
Inductive kind := Count | Total | Mean | Extreme | Ordinal | Category | Interval | AnyGraph | OtherKind.
Inductive numbers_of_law :=
| Weights (rows : list (list Z))
| Noise (core : list Z) (floor fin size : Z) (remap : option (list Z))
| TwoWeights (size other : Z)
| LabelSets (family : design) (inside : Z).  (* reports are numbers of sets of labels *)

Record passport := Passport {
  asked : kind;
  answers : scale;
  cells : option (scale * scale * scale);  (* lower edges, upper edges, values; None: one cell for each answer *)
  near : neighbours;
  rounds : bool;
  labels : option Z;                       (* how many, all distinct *)
  allowance : frac;
  epsilon : frac;
  numbers : numbers_of_law
}.

(** * Scales: strictly rising ticks from 0; without gaps they are [Even] *)
Definition MOST_ANSWERS := 2 ^ 53.
Definition MOST_LISTED := 2 ^ 27.
Definition MOST_ROUNDED := 2 ^ 20.
Definition MOST_CELLS := 2 ^ 13.
Definition MOST_STEPS := 2 ^ 16.
Definition MOST_EDGES := 2 ^ 21.

Fixpoint length_Z {A} (count : Z) (l : list A) : Z :=
  match l with [] => count | _ :: l' => length_Z (count + 1) l' end.

Fixpoint last_of (l : list Z) : Z := match l with [] => 0 | [x] => x | _ :: l' => last_of l' end.

Definition places_ok (t : places) : bool :=
  match t with
  | Even n => (1 <=? n) && (n <=? MOST_ANSWERS)
  | Listed [] => false
  | Listed (t0 :: l) => (t0 =? 0) && rising (t0 :: l)
  end.

Definition scale_ok (s : scale) : bool := is_number (first s) && is_positive (grid_step s) && places_ok (ticks s).

Definition size_of (t : places) : Z := match t with Even n => n | Listed l => length_Z 0 l end.
Definition last_tick (t : places) : Z := match t with Even n => n - 1 | Listed l => last_of l end.

(** No gaps. *)
Definition regular (t : places) : bool := size_of t =? last_tick t + 1.

Definition all_ticks (t : places) : list Z :=
  match t with Even n => map Z.of_nat (seq 0 (Z.to_nat n)) | Listed l => l end.

Definition near_enough (t : places) : bool :=
  last_tick t <? (if regular t then MOST_ANSWERS else MOST_LISTED).

(** * Cells: disjoint, in order, each holding its value; together holding every answer *)
Definition same_places (a b : places) : bool :=
  (size_of a =? size_of b)
  && (if regular a then regular b
      else negb (regular b) && forallb (fun ab => fst ab =? snd ab) (combine (all_ticks a) (all_ticks b))).

Definition same_scale (a b : scale) : bool :=
  frac_eq (first a) (first b) && frac_eq (grid_step a) (grid_step b) && same_places (ticks a) (ticks b).

Definition shifted (s : scale) (halves : Z) : scale :=
  Scale (frac_add (first s) (Frac (halves * num (grid_step s)) (2 * den (grid_step s)))) (grid_step s) (ticks s).

(** The values of a scale as whole multiples of 1/common. *)
Definition wholes (common : Z) (s : scale) : list Z :=
  let start := num (first s) * (common / den (first s)) in
  let step := num (grid_step s) * (common / den (grid_step s)) in
  map (fun t => start + step * t) (all_ticks (ticks s)).

Fixpoint cells_in_order (lows values highs : list Z) : bool :=
  match lows, values, highs with
  | a :: lows', b :: values', c :: highs' =>
      (a <? c) && (a <=? b) && (b <=? c)
      && (match lows' with a' :: _ => c <=? a' | [] => true end)
      && cells_in_order lows' values' highs'
  | [], [], [] => true
  | _, _, _ => false
  end.

(** Each answer lies in the last cell that begins at or below it. [fuel]: answers and cells that are left. *)
Fixpoint covered (fuel : nat) (places lows highs : list Z) : bool :=
  match fuel, places, lows, highs with
  | _, [], _, _ => true
  | S fuel', x :: places', a :: lows', c :: highs' =>
      match lows' with
      | a' :: _ => if a' <=? x then covered fuel' places lows' highs'
                   else (a <=? x) && (x <=? c) && covered fuel' places' lows highs
      | [] => (a <=? x) && (x <=? c) && covered fuel' places' lows highs
      end
  | _, _, _, _ => false
  end.

Definition common_of (scales : list scale) : Z :=
  fold_left (fun c s => Z.lcm (Z.lcm c (den (first s))) (den (grid_step s))) scales 1.

Definition cells_ok (most : Z) (s lowers uppers values : scale) : bool :=
  scale_ok lowers && scale_ok uppers && scale_ok values
  && (size_of (ticks s) <=? most) && (size_of (ticks lowers) <=? most)
  && (size_of (ticks uppers) <=? most) && (size_of (ticks values) <=? most)
  && (let common := common_of [lowers; uppers; values] in
      cells_in_order (wholes common lowers) (wholes common values) (wholes common uppers))
  && (let common := common_of [s; lowers; uppers] in
      let places := wholes common s in
      let lows := wholes common lowers in
      covered (length places + length lows) places lows (wholes common uppers)).

Definition around (s lowers uppers values : scale) : bool :=
  same_scale lowers (shifted s (-1)) && same_scale uppers (shifted s 1) && same_scale values s.

Definition one_output_per_answer (p : passport) : bool :=
  match cells p with None => true | Some (l, u, v) => around (answers p) l u v end.

Definition outputs (p : passport) : Z :=
  match cells p with None => size_of (ticks (answers p)) | Some (_, _, v) => size_of (ticks v) end.

(** * Queries *)
Definition gap_within (r : Z) (l : list Z) : bool :=
  match l with [] => false | t0 :: l' => existsb (fun ab => snd ab - fst ab <=? r) (combine l l') end.

Definition edge_count (groups : list group) : Z := fold_left (fun count g => length_Z count (ends g)) groups 0.

(** That each two of n answers are joined at most once in each direction is left to the reader, like labels that differ:
    with two lengths both are promised. *)
Definition graph_ok (n : Z) (groups : list group) : bool :=
  (1 <=? edge_count groups) && (edge_count groups <=? MOST_EDGES)
  && forallb (fun g => (0 <? gnum g) && (0 <? gden g)
       && forallb (fun e => negb (fst e =? snd e)%nat && (Z.of_nat (fst e) <? n) && (Z.of_nat (snd e) <? n)) (ends g)) groups.

Definition neighbours_ok (t : places) (n : neighbours) : bool :=
  match n with
  | ByEdges groups => graph_ok (size_of t) groups
  | ByReach r => (1 <=? r) && (r <=? MOST_ANSWERS)
                 && (match t with Even _ => true | Listed l => gap_within r l end)
  | AllOfThem => true
  | ByMetric d => is_positive d
  end.

(** Real answers at most this far apart, before the allowance, land within the reach. *)
Definition reached (p : passport) : frac :=
  match near p with ByReach r => if rounds p then frac_times r (grid_step (answers p)) else whole 0 | _ => whole 0 end.

Definition kind_ok (p : passport) : bool :=
  match asked p with
  | Count => regular (ticks (answers p)) && frac_eq (first (answers p)) (whole 0) && frac_eq (grid_step (answers p)) (whole 1)
  | Total | Mean | Extreme | Ordinal | Category => regular (ticks (answers p))
  | Interval | AnyGraph | OtherKind => true
  end.

Definition labels_ok (p : passport) : bool :=
  match labels p, near p with
  | None, _ => true
  | Some k, (AllOfThem | ByEdges _) => k =? size_of (ticks (answers p))
  | Some _, _ => false
  end.

(** Named answers on a graph are numbered 0, 1, 2, ..., each an output of its own. Without names they are numbers. Real
    answers are on no graph. *)
Definition on_graph_ok (p : passport) : bool :=
  match near p, labels p with
  | ByEdges _, None =>
      negb (rounds p) && (match asked p with Count | Total | Mean | Extreme | Ordinal | AnyGraph => true | _ => false end)
  | ByEdges _, Some _ => negb (rounds p) && same_scale (answers p) (Scale (whole 0) (whole 1) (Even (size_of (ticks (answers p)))))
                         && one_output_per_answer p
  | _, _ => true
  end.

Definition allowance_ok (p : passport) : bool :=
  is_number (allowance p) && (0 <=? num (allowance p)) && frac_le (frac_times 1024 (allowance p)) (reached p).

Definition epsilon_ok (p : passport) : bool :=
  is_positive (epsilon p) && frac_le (Frac 1 (10 ^ 9)) (epsilon p) && frac_le (epsilon p) (whole 64).

(** The rows, columns or targets that the file itself writes out. *)
Definition written (p : passport) : Z :=
  match numbers p with
  | Weights W => Z.max (length_Z 0 W) (match W with [] => 0 | row :: _ => length_Z 0 row end)
  | Noise _ _ _ _ (Some remap) => length_Z 0 remap
  | Noise _ _ _ _ None | TwoWeights _ _ | LabelSets _ _ => 0
  end.

Definition query_ok (p : passport) : bool :=
  let t := ticks (answers p) in
  scale_ok (answers p) && near_enough t && (2 <=? size_of t)
  && (negb (rounds p) || (size_of t <=? MOST_ROUNDED))
  && neighbours_ok t (near p) && labels_ok p && on_graph_ok p && kind_ok p && allowance_ok p && epsilon_ok p
  && (match cells p with
      | None => true
      | Some (l, u, v) => cells_ok (Z.max MOST_CELLS (written p)) (answers p) l u v
      end).

(** * Laws *)

(** Edges are no runs of ticks: [price] promises nothing of answers on a graph, [passport_graph] does. *)
Definition near_ticks (p : passport) : near_by :=
  match near p with
  | ByReach r => Reach r
  | AllOfThem => Everyone
  | ByEdges _ => Reach (-1)
  | ByMetric d => Metric (num (grid_step (answers p)) * den d) (den (grid_step (answers p)) * num d)
  end.

(** What noise on a grid without gaps must pay for: reach in steps, and the distance. *)
Definition noise_steps (p : passport) (size : Z) : option (Z * Z * Z) :=
  match labels p, near_ticks p with
  | None, Reach r => if 0 <? r then Some (Z.min r size, 1, 1) else None
  | None, Metric n d => Some (1, n, d)
  | _, _ => None
  end.

Definition remap_ok (p : passport) (remap : option (list Z)) (size : Z) : bool :=
  match remap with
  | None => one_output_per_answer p
  | Some l => (length_Z 0 l =? size + 1) && forallb (fun o => (0 <=? o) && (o <? outputs p)) l
  end.

(** Two weights stand for answers at distance 1. *)
Definition at_distance_one (p : passport) : bool :=
  match near p with ByReach _ | AllOfThem => true | _ => false end.

Definition all_near (p : passport) : bool := match near p with AllOfThem => true | _ => false end.

Definition law_ok (p : passport) : bool :=
  let n := size_of (ticks (answers p)) in
  match numbers p with
  | Weights W =>
      (length_Z 0 W =? outputs p)
      && (match W with [] => false | row :: _ => length_Z 0 row =? n end)
      && (let t := all_ticks (ticks (answers p)) in
          match near p with
          | ByEdges groups => check_edges (length t) W groups (num (epsilon p)) (den (epsilon p))
          | _ => check_matrix (length t) W (runs t (near_ticks p)) (num (epsilon p)) (den (epsilon p))
          end)
  | Noise core floor fin size remap =>
      regular (ticks (answers p)) && (size =? n - 1) && remap_ok p remap size
      && (match noise_steps p size with
          | None => false
          | Some (reach, dn, dd) =>
              let written_out := length_Z 0 core in
              (Z.min reach (size - 1 - written_out / 2) <=? Z.max MOST_STEPS (4 * written_out))
              && check_noise core floor fin (Z.to_nat size) (Z.to_nat reach) dn dd (num (epsilon p)) (den (epsilon p))
          end)
  | TwoWeights size other =>
      (size =? n) && one_output_per_answer p && at_distance_one p
      && check_response size other (num (epsilon p)) (den (epsilon p))
  | LabelSets family inside =>
      all_near p && one_output_per_answer p && design_ok n family
      && check_blocks (blocks_of n family) (holding_of n family) inside (num (epsilon p)) (den (epsilon p))
  end.

(** What `inbounds-check` runs. *)
Definition check_passport (p : passport) : bool := query_ok p && law_ok p.

(** * What it means *)
Open Scope R_scope.

Definition real (a : frac) : R := IZR (num a) / IZR (den a).

(** How many positions there are, and the tick of each. *)
Definition positions (p : passport) : nat := Z.to_nat (size_of (ticks (answers p))).
Definition tick_at (p : passport) (j : nat) : Z :=
  match ticks (answers p) with Even _ => Z.of_nat j | Listed l => nth j l 0%Z end.

(** The answer at a position. *)
Definition value (p : passport) (j : nat) : R := real (first (answers p)) + real (grid_step (answers p)) * IZR (tick_at p j).

(** What a clamped step is renamed to. *)
Definition target (remap : option (list Z)) (o : nat) : nat :=
  match remap with None => o | Some l => Z.to_nat (nth o l 0%Z) end.

(** Pr[report | position]. *)
Definition law_of (p : passport) : mechanism nat nat :=
  match numbers p with
  | Weights W => law TOTAL W
  | Noise core floor fin size remap =>
      noise_law (noise_table core floor fin (Z.to_nat size)) (Z.to_nat size) (target remap) (Z.to_nat (outputs p))
  | TwoWeights size other => response_law size other
  | LabelSets family inside => label_law (size_of (ticks (answers p))) family inside
  end.

(** * Soundness *)
Lemma length_Z_spec {A} (l : list A) : forall c, length_Z c l = (c + Z.of_nat (length l))%Z.
Proof. induction l as [|x l IH]; intro c; cbn [length_Z length]; [lia|]. rewrite IH. lia. Qed.

Lemma size_pos t : places_ok t = true -> (1 <= size_of t)%Z.
Proof.
  destruct t as [n|[|t0 l]]; cbn [places_ok size_of]; try discriminate.
  - intros H. apply andb_true_iff in H as [H _]. now apply Z.leb_le in H.
  - intros _. rewrite length_Z_spec. cbn [length]. lia.
Qed.

Lemma all_ticks_length t : (0 <= size_of t)%Z -> length (all_ticks t) = Z.to_nat (size_of t).
Proof.
  destruct t as [n|l]; cbn [all_ticks size_of]; intro H.
  - now rewrite map_length, seq_length.
  - rewrite length_Z_spec. lia.
Qed.

Lemma rising_seq n : forall a, rising (map Z.of_nat (seq a n)) = true.
Proof.
  induction n as [|n IH]; intro a; [reflexivity|]. cbn [seq map]. specialize (IH (S a)).
  destruct n as [|n]; [reflexivity|]. cbn [seq map rising] in *. rewrite IH.
  destruct (Z.ltb_spec (Z.of_nat a) (Z.of_nat (S a))); [reflexivity|lia].
Qed.

Lemma all_ticks_rising t : places_ok t = true -> rising (all_ticks t) = true.
Proof.
  destruct t as [n|[|t0 l]]; cbn [places_ok all_ticks]; try discriminate; intro H.
  - apply rising_seq.
  - now apply andb_true_iff in H.
Qed.

Lemma last_of_nth l : last_of l = nth (length l - 1) l 0%Z.
Proof.
  induction l as [|x l IH]; [reflexivity|]. destruct l as [|y l]; [reflexivity|].
  change (last_of (x :: y :: l)) with (last_of (y :: l)). rewrite IH. cbn [length].
  replace (S (S (length l)) - 1)%nat with (S (S (length l) - 1)) by lia. reflexivity.
Qed.

(** Rising from 0 to its length without one: no gaps. *)
Lemma listed_regular l : rising l = true -> nth 0 l 0%Z = 0%Z -> last_of l = (Z.of_nat (length l) - 1)%Z ->
  forall j, (j < length l)%nat -> nth j l 0%Z = Z.of_nat j.
Proof.
  intros Hr H0 Hl.
  assert (Low : forall j, (j < length l)%nat -> (Z.of_nat j <= nth j l 0)%Z).
  { induction j as [|j IH]; intro Hj; [lia|]. specialize (IH ltac:(lia)).
    pose proof (rising_nth l Hr j (S j) ltac:(lia)). lia. }
  assert (High : forall d j, (j + d = length l - 1)%nat -> (j < length l)%nat -> (nth j l 0 + Z.of_nat d <= last_of l)%Z).
  { induction d as [|d IH]; intros j Hd Hj.
    - rewrite last_of_nth. replace (length l - 1)%nat with j by lia. lia.
    - specialize (IH (S j) ltac:(lia) ltac:(lia)). pose proof (rising_nth l Hr j (S j) ltac:(lia)). lia. }
  intros j Hj. specialize (Low j Hj). specialize (High (length l - 1 - j)%nat j ltac:(lia) Hj). lia.
Qed.

Lemma tick_at_all p j : (j < positions p)%nat -> tick (all_ticks (ticks (answers p))) j = tick_at p j.
Proof.
  unfold positions, tick_at, tick. destruct (ticks (answers p)) as [n|l]; cbn [size_of all_ticks]; intro Hj; [|reflexivity].
  rewrite <- (Nat2Z.id 0) at 1. change 0%Z with (Z.of_nat 0). rewrite map_nth, seq_nth; [reflexivity|assumption].
Qed.

Section Accepted.
  Variable p : passport.
  Hypothesis accepted : check_passport p = true.
  Let n := positions p.

  Lemma accepted_query : query_ok p = true.
  Proof. now apply andb_true_iff in accepted. Qed.

  Lemma accepted_law : law_ok p = true.
  Proof. now apply andb_true_iff in accepted. Qed.

  Lemma query_facts : scale_ok (answers p) = true /\ neighbours_ok (ticks (answers p)) (near p) = true /\
    kind_ok p = true /\ allowance_ok p = true /\ epsilon_ok p = true.
  Proof.
    pose proof accepted_query as H. unfold query_ok in H. rewrite !andb_true_iff in H. tauto.
  Qed.

  Lemma ticks_ok : places_ok (ticks (answers p)) = true.
  Proof. destruct query_facts as (H & _). unfold scale_ok in H. rewrite !andb_true_iff in H. tauto. Qed.

  Lemma unit_pos : (0 < num (grid_step (answers p)) /\ 0 < den (grid_step (answers p)))%Z.
  Proof.
    destruct query_facts as (H & _). unfold scale_ok, is_positive, is_number in H. rewrite !andb_true_iff in H.
    rewrite !Z.ltb_lt in H. tauto.
  Qed.

  Lemma real_unit_pos : 0 < real (grid_step (answers p)).
  Proof.
    destruct unit_pos as [A B]. apply Rmult_lt_0_compat; [now apply IZR_pos|]. apply Rinv_0_lt_compat. now apply IZR_pos.
  Qed.

  Lemma real_epsilon_pos : 0 < real (epsilon p).
  Proof.
    destruct query_facts as (_ & _ & _ & _ & H). unfold epsilon_ok, is_positive, is_number in H.
    rewrite !andb_true_iff in H. destruct H as [[[A B] _] _]. rewrite Z.ltb_lt in A, B.
    apply Rmult_lt_0_compat; [now apply IZR_pos|]. apply Rinv_0_lt_compat. now apply IZR_pos.
  Qed.

  Lemma near_metric_ok : metric_ok (near_ticks p).
  Proof.
    destruct query_facts as (_ & H & _). destruct unit_pos as [A B]. unfold near_ticks, neighbours_ok in *.
    destruct (near p) as [r| |d|groups]; cbn; auto. unfold is_positive, is_number in H. rewrite andb_true_iff, !Z.ltb_lt in H.
    split; nia.
  Qed.

  Lemma regular_tick : regular (ticks (answers p)) = true -> forall j, (j < n)%nat -> tick_at p j = Z.of_nat j.
  Proof.
    intros H j Hj. pose proof ticks_ok as T. unfold n, positions, tick_at, regular in *.
    destruct (ticks (answers p)) as [k|l]; [reflexivity|]. cbn [size_of last_tick] in *.
    apply Z.eqb_eq in H. rewrite length_Z_spec in *. destruct l as [|t0 l]; [discriminate|].
    cbn [places_ok] in T. apply andb_true_iff in T as [T0 T]. apply Z.eqb_eq in T0.
    apply listed_regular; auto; lia.
  Qed.

  Theorem passport_pointwise j k d : (j < n)%nat -> (k < n)%nat -> price (tick_at p) (near_ticks p) j k = Some d ->
    forall i, In i (outs (law_of p)) -> mass (law_of p) j i <= exp (real (epsilon p) * d) * mass (law_of p) k i.
  Proof.
    intros Hj Hk Hd i Hi. pose proof accepted_law as H. pose proof ticks_ok as T. pose proof near_metric_ok as Mok.
    pose proof regular_tick as Reg. pose proof real_epsilon_pos as Epos.
    unfold law_ok in H. unfold law_of in *. destruct (numbers p) as [W|core floor fin size remap|size other|family inside].
    - rewrite !andb_true_iff in H. destruct H as [[_ _] H].
      set (l := all_ticks (ticks (answers p))) in *.
      assert (C : check_matrix (length l) W (runs l (near_ticks p)) (num (epsilon p)) (den (epsilon p)) = true).
      { destruct (near p) as [r| |c|groups] eqn:En; try exact H. exfalso. unfold near_ticks, price in Hd.
        rewrite En in Hd. destruct (Z.leb_spec (Z.abs (tick_at p j - tick_at p k)) (-1)); [lia|discriminate]. }
      clear H. rename C into H.
      assert (Ln : length l = n) by (apply all_ticks_length; pose proof (size_pos _ T); lia).
      apply (weights_pointwise l (near_ticks p) TOTAL W); auto; try lia.
      + now apply all_ticks_rising.
      + rewrite <- Hd. unfold price. pose proof (tick_at_all p j Hj) as Ej. pose proof (tick_at_all p k Hk) as Ek.
        fold l in Ej, Ek. now rewrite Ej, Ek.
    - rewrite !andb_true_iff in H. destruct H as [[[Hr Hs] _] H]. apply Z.eqb_eq in Hs.
      specialize (Reg Hr). destruct (noise_steps p size) as [[[reach dn] dd]|] eqn:Es; [|discriminate].
      apply andb_true_iff in H as [_ H]. set (m := noise_law _ _ _ _) in *.
      pose proof (noise_pointwise _ _ _ _ _ _ _ _ _ (target remap) (Z.to_nat (outputs p)) H) as G. fold m in G.
      pose proof (size_pos _ T) as Sp.
      assert (En : n = S (Z.to_nat size)) by (unfold n, positions; lia).
      assert (Hp : forall a, 0 <= mass m a i) by (intro a; apply (noise_mass_pos _ _ _ _ _ _ _ _ _ _ _ H)).
      unfold noise_steps in Es. destruct (labels p); [discriminate|]. unfold price in Hd. rewrite !Reg in Hd by assumption.
      destruct (near_ticks p) as [r| |a b]; [| discriminate |].
      + destruct (0 <? r)%Z; [|discriminate]. injection Es as <- <- <-.
        destruct (Z.leb_spec (Z.abs (Z.of_nat j - Z.of_nat k)) r) as [Hle|]; [|discriminate]. injection Hd as <-.
        replace 1 with (1 / 1) by field. apply G; [|assumption]. unfold apart. lia.
      + injection Es as <- <- <-. injection Hd as <-. cbn [metric_ok] in Mok. destruct Mok as [Ha Hb].
        apply IZR_le in Ha. apply IZR_pos in Hb.
        assert (Q0 : 0 <= IZR a / IZR b) by (apply Rmult_le_pos; [lra|left; now apply Rinv_0_lt_compat]).
        set (f := fun j => real (epsilon p) * (INR j * (IZR a / IZR b))).
        replace (real (epsilon p) * (IZR (Z.abs (Z.of_nat j - Z.of_nat k)) * (IZR a / IZR b))) with (Rabs (f j - f k)).
        * apply (line m n f i); try assumption.
          -- intros c Hc. replace (f (S c) - f c) with (eps (num (epsilon p)) (den (epsilon p)) * (IZR a / IZR b)).
             ++ split; apply G; try assumption; unfold apart; lia.
             ++ unfold f. rewrite S_INR. unfold eps, real. ring.
          -- intros c e Hce. unfold f. apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_r; [assumption|].
             apply le_INR. lia.
        * unfold f. rewrite abs_IZR, minus_IZR, <- !INR_IZR_INZ.
          replace (real (epsilon p) * (INR j * (IZR a / IZR b)) - real (epsilon p) * (INR k * (IZR a / IZR b)))
            with ((real (epsilon p) * (IZR a / IZR b)) * (INR j - INR k)) by ring.
          rewrite Rabs_mult, Rabs_right; [ring|]. apply Rle_ge, Rmult_le_pos; lra.
    - rewrite !andb_true_iff in H. destruct H as [[_ Near] H].
      replace d with 1; [rewrite Rmult_1_r; now apply response_pointwise|].
      revert Hd. unfold at_distance_one, near_ticks, price in *. destruct (near p); try discriminate; [|congruence].
      destruct (_ <=? _)%Z; congruence.
    - rewrite !andb_true_iff in H. destruct H as [[[Near _] D] H].
      replace d with 1; [|revert Hd; unfold all_near, near_ticks, price in *; destruct (near p); try discriminate; congruence].
      rewrite Rmult_1_r. apply (blocks_pointwise _ _ _ _ _ _ H); [| |exact Hi]; apply design_covers; assumption.
  Qed.

  Theorem passport_private j k d : (j < n)%nat -> (k < n)%nat -> price (tick_at p) (near_ticks p) j k = Some d ->
    forall S, Pr (law_of p) j S <= exp (real (epsilon p) * d) * Pr (law_of p) k S.
  Proof.
    intros Hj Hk Hd S. apply (pointwise_private (fun a b => a = j /\ b = k)); [|now split].
    intros a b [-> ->] i Hi. now apply passport_pointwise.
  Qed.

  (** Answers on a graph: every path keeps its length, the shortest one in particular. *)
  Theorem passport_graph groups W j k d : near p = ByEdges groups -> numbers p = Weights W ->
    path (edges_of groups) j k d ->
    forall S, Pr (law_of p) j S <= exp (real (epsilon p) * d) * Pr (law_of p) k S.
  Proof.
    intros Hn Hw P S. pose proof accepted_law as H. unfold law_ok in H. unfold law_of. rewrite Hw, Hn in *.
    rewrite !andb_true_iff in H. destruct H as [_ H].
    exact (path_private _ _ _ _ _ H d j k P S).
  Qed.

  Theorem passport_distribution j : (j < n)%nat -> distribution (law_of p) j.
  Proof.
    intros Hj. pose proof accepted_law as H. pose proof ticks_ok as T. pose proof (size_pos _ T) as Sp.
    unfold law_ok in H. unfold law_of. destruct (numbers p) as [W|core floor fin size remap|size other|family inside].
    - rewrite !andb_true_iff in H. destruct H as [[_ _] H].
      assert (Hl : (j < length (all_ticks (ticks (answers p))))%nat) by (rewrite all_ticks_length by lia; exact Hj).
      destruct (near p); try (eapply law_distribution; [exact H|exact Hl]). exact (edges_distribution _ _ _ _ _ H j Hl).
    - rewrite !andb_true_iff in H. destruct H as [[[Hr Hs] Hm] H]. apply Z.eqb_eq in Hs.
      destruct (noise_steps p size) as [[[reach dn] dd]|]; [|discriminate]. apply andb_true_iff in H as [_ H].
      eapply noise_distribution; [exact H|]. intros o Ho. unfold remap_ok, target in *. destruct remap as [l|].
      + apply andb_true_iff in Hm as [Hl Hin]. apply Z.eqb_eq in Hl. rewrite length_Z_spec in Hl.
        rewrite forallb_forall in Hin. specialize (Hin (nth o l 0%Z) ltac:(apply nth_In; lia)).
        apply andb_true_iff in Hin as [A B]. apply Z.leb_le in A. apply Z.ltb_lt in B. lia.
      + assert (E : outputs p = size_of (ticks (answers p))).
        { unfold outputs, one_output_per_answer in *. destruct (cells p) as [[[lo up] v]|]; [|reflexivity].
          unfold around, same_scale, same_places in Hm. rewrite !andb_true_iff in Hm. rewrite !Z.eqb_eq in Hm. tauto. }
        rewrite E. lia.
    - rewrite !andb_true_iff, Z.eqb_eq in H. destruct H as [[[-> _] _] H]. now apply (response_distribution _ _ _ _ H).
    - rewrite !andb_true_iff in H. destruct H as [[_ D] H]. apply (blocks_distribution _ _ _ _ _ _ H).
      apply design_covers; assumption.
  Qed.
End Accepted.
