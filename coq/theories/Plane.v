(** check_plane of trusted/plane_noise.py: noise in whole weights on a map, and the proof that what it accepts is
    private.

    A map has (r + 1) x (c + 1) cells in reading order; the table has a weight for every step of -r..r rows down and -c..c
    columns to the right. The report for a cell is cell + noise, moved to the nearest cell of the map. Whatever the answer
    is, every cell has the weight [anywhere] besides, and the first cell the rest of 2^62. Then any [target] renames it.

    A cell that is not at an end of its column gathers one row of noise, one at an end all rows at or beyond it; the same
    along its row. So the weights of one cell under all answers stand in one of nine tables ([families]), and under two
    answers that are a move apart they stand a move apart there.

    gathered           the weight of a cell under an answer is an entry of the family of the cell, by cell minus answer
    check_plane_sound  every move that was compared keeps its ratio, for every cell
    plane_pointwise    hence every edge of the map does, with the renaming
    plane_distribution and the masses sum to one
    map_private        for an accepted passport: every path keeps its length, for every set of reports
    map_promise        hence for a statistic that moves along paths of length at most d between neighbours *)
From Coq Require Import ZArith Reals List Bool Lra Lia Psatz Arith.
From Inbounds Require Import Exp Privacy Matrix Noise Neighbours Graph Passport.
Import ListNotations.
Open Scope Z_scope.

(** * The checker *)

(** Sums of the first 1, 2, 3, ... numbers, and of all from the first, the second, ... on. *)
Definition sums_from_below (l : list Z) : list Z := match l with [] => [] | x :: rest => accumulate x rest end.

Definition sums_from_above (l : list Z) : list Z := rev_append (sums_from_below (rev_append l [])) [].

(** The noise of -size..size along one axis, as cells gather it: between the ends, at the first, at the last. *)
Definition inside (size : nat) (l : list Z) : list Z := firstn (2 * size - 1) (skipn 1 l).
Definition at_first (size : nat) (l : list Z) : list Z := firstn (size + 1) (sums_from_below l).
Definition at_last (size : nat) (l : list Z) : list Z := skipn size (sums_from_above l).

(** Each with how many numbers it leaves. *)
Definition sides (size : nat) : list (nat * (list Z -> list Z)) :=
  (if (2 <=? size)%nat then [((2 * size - 1)%nat, inside size)] else [])
  ++ [((size + 1)%nat, at_first size); ((size + 1)%nat, at_last size)].

(** A family is kept by columns: family[b][a] for a step of a down and b to the right. *)
Definition families (r c : nat) (table : list (list Z)) : list (list (list Z)) :=
  flat_map (fun across => let by_columns := columns (fst across) (map (snd across) table) in
                          map (fun down => map (snd down) by_columns) (sides r)) (sides c).

(** All pairs of an entry of l and one of l' that stands so many places before it. *)
Definition apart_by {A} (steps : Z) (l l' : list A) : list (A * A) :=
  combine (skipn (Z.to_nat steps) l) (skipn (Z.to_nat (- steps)) l').

Definition family_keeps (p anywhere down right : Z) (family : list (list Z)) : bool :=
  forallb (fun columns => forallb (fun pair => pair_ok p (fst pair + anywhere, snd pair + anywhere))
                                  (apart_by down (fst columns) (snd columns)))
          (apart_by right family family).

(** From the tail of an edge to its head: rows down, columns to the right, and the length. *)
Record move := Move { down : Z; right : Z; far : frac }.

Definition table_sum (table : list (list Z)) : Z := fold_left (fun sum row => fold_left Z.add row sum) table 0.

Definition rest_of (r c : nat) (table : list (list Z)) (anywhere : Z) : Z :=
  TOTAL - table_sum table - Z.of_nat ((r + 1) * (c + 1)) * anywhere.

Definition check_plane (r c : nat) (table : list (list Z)) (anywhere : Z) (moves : list move) (en ed : Z) : bool :=
  (0 <=? en) && (0 <? ed)
  && (length table =? r + r + 1)%nat
  && forallb (fun row => (length row =? c + c + 1)%nat && forallb (Z.leb 0) row) table
  && (0 <=? anywhere) && (0 <=? rest_of r c table anywhere)
  && (let compared := families r c table in
      forallb (fun m => (0 <=? num (far m)) && (0 <? den (far m))
        && (let p := ratio_below en ed (num (far m)) (den (far m)) in
            forallb (family_keeps p anywhere (down m) (right m)) compared)) moves).

(** ** The moves along edges, each with the length of its shortest edge; [None] if there are more than [room]. *)
Fixpoint add_move (room : nat) (m : move) (moves : list move) : option (list move) :=
  match room, moves with
  | O, _ => None
  | S _, [] => Some [m]
  | S room', m' :: moves' =>
      if (down m =? down m') && (right m =? right m') then
        Some ((if frac_le (far m') (far m) then m' else m) :: moves')
      else match add_move room' m moves' with Some added => Some (m' :: added) | None => None end
  end.

Definition MOST_MOVES : nat := 2 ^ 9.

(** On a map of [width] columns. *)
Definition move_of (width : Z) (length : frac) (e : nat * nat) : move :=
  let a := Z.of_nat (fst e) in
  let b := Z.of_nat (snd e) in
  Move (b / width - a / width) (b mod width - a mod width) length.

Definition moves_of (width : Z) (groups : list group) : option (list move) :=
  fold_left (fun moves g =>
    fold_left (fun moves e =>
      match moves with Some found => add_move MOST_MOVES (move_of width (Frac (gnum g) (gden g)) e) found | None => None end)
      (ends g) moves) groups (Some []).

(** ** Passports *)
Record plane_noise := PlaneNoise { step_weights : list (list Z); anywhere : Z; renamed : option (list Z) }.

Definition last_row (t : plane_noise) : nat := Nat.div2 (length (step_weights t)).
Definition last_column (t : plane_noise) : nat := match step_weights t with [] => 0%nat | row :: _ => Nat.div2 (length row) end.
Definition cells_of (t : plane_noise) : Z := Z.of_nat ((last_row t + 1) * (last_column t + 1)).

Definition plane_ok (p : passport) (t : plane_noise) : bool :=
  match near p, labels p with
  | ByEdges groups, Some _ =>
      one_output_per_answer p && (cells_of t =? size_of (ticks (answers p)))
      && (match renamed t with
          | None => true
          | Some l => (length_Z 0 l =? cells_of t) && forallb (fun cell => (0 <=? cell) && (cell <? cells_of t)) l
          end)
      && (match moves_of (Z.of_nat (last_column t + 1)) groups with
          | None => false
          | Some moves =>
              check_plane (last_row t) (last_column t) (step_weights t) (anywhere t) moves (num (epsilon p)) (den (epsilon p))
          end)
  | _, _ => false
  end.

(** What `inbounds-check` runs on noise on a map: the query and the epsilon of [p], with this law. *)
Definition check_map (p : passport) (t : plane_noise) : bool := query_ok p && plane_ok p t.

(** * What it means *)

(** The sum of the weights whose places, from [x] on, are chosen. *)
Fixpoint chosen (choice : nat -> bool) (x : nat) (l : list Z) : Z :=
  match l with [] => 0 | w :: rest => (if choice x then w else 0) + chosen choice (S x) rest end.

(** Noise number x of 0..2·size along one axis moves answer j to [report size j x]; what leads to output o. *)
Definition gather (size j o : nat) (l : list Z) : Z := chosen (fun x => (report size j x =? o)%nat) 0 l.

(** The weight of cell o under answer j before it is renamed. *)
Definition cell_weight (r c : nat) (T : list (list Z)) (u : Z) (j o : nat) : Z :=
  let width := (c + 1)%nat in
  gather r (j / width) (o / width) (map (gather c (j mod width) (o mod width)) T)
  + u + (if (o =? 0)%nat then rest_of r c T u else 0).

Definition noisy_cell (r c : nat) (T : list (list Z)) (u : Z) : mechanism nat nat :=
  Mechanism (seq 0 ((r + 1) * (c + 1))) (fun j o => (IZR (cell_weight r c T u j o) / IZR TOTAL)%R).

(** Pr[report | answer]. *)
Definition plane_law (r c : nat) (T : list (list Z)) (u : Z) (target : nat -> nat) : mechanism nat nat :=
  Mechanism (seq 0 ((r + 1) * (c + 1))) (fun j i => Pr (noisy_cell r c T u) j (fun o => (target o =? i)%nat)).

Definition map_law (t : plane_noise) : mechanism nat nat :=
  plane_law (last_row t) (last_column t) (step_weights t) (anywhere t) (target (renamed t)).

(** * Sums of chosen weights *)
Lemma chosen_app choice l : forall x l', chosen choice x (l ++ l') = chosen choice x l + chosen choice (x + length l) l'.
Proof.
  induction l as [|w l IH]; intros x l'; cbn [chosen app length].
  - rewrite Nat.add_0_r. lia.
  - rewrite IH. replace (S x + length l)%nat with (x + S (length l))%nat by lia. lia.
Qed.

Lemma chosen_all choice l : forall x, (forall y, (x <= y < x + length l)%nat -> choice y = true) -> chosen choice x l = Zsum l.
Proof.
  induction l as [|w l IH]; intros x H; cbn [chosen Zsum fold_right]; [reflexivity|]. fold (Zsum l).
  rewrite (H x) by (cbn; lia). rewrite IH; [reflexivity|]. intros y Hy. apply H. cbn. lia.
Qed.

Lemma chosen_none choice l : forall x, (forall y, (x <= y < x + length l)%nat -> choice y = false) -> chosen choice x l = 0.
Proof.
  induction l as [|w l IH]; intros x H; cbn [chosen]; [reflexivity|].
  rewrite (H x) by (cbn; lia). rewrite IH; [reflexivity|]. intros y Hy. apply H. cbn. lia.
Qed.

Lemma chosen_nonneg choice l : (forall w, In w l -> 0 <= w) -> forall x, 0 <= chosen choice x l.
Proof.
  induction l as [|w l IH]; intros H x; cbn [chosen]; [lia|].
  pose proof (H w (or_introl eq_refl)). assert (0 <= chosen choice (S x) l) by (apply IH; intros; apply H; now right).
  destruct (choice x); lia.
Qed.

(** Places a..b-1. *)
Lemma chosen_between choice l a b : (a <= b <= length l)%nat ->
  (forall y, (y < length l)%nat -> choice y = ((a <=? y)%nat && (y <? b)%nat)) ->
  chosen choice 0 l = Zsum (firstn (b - a) (skipn a l)).
Proof.
  intros Hab H.
  assert (E : l = firstn a l ++ firstn (b - a) (skipn a l) ++ skipn b l).
  { rewrite <- (firstn_skipn a l) at 1. f_equal. rewrite <- (firstn_skipn (b - a) (skipn a l)) at 1. f_equal.
    rewrite skipn_skipn'. f_equal. lia. }
  assert (La : length (firstn a l) = a) by (rewrite firstn_length; lia).
  assert (Lb : length (firstn (b - a) (skipn a l)) = (b - a)%nat) by (rewrite firstn_length, skipn_length; lia).
  assert (Lc : length (skipn b l) = (length l - b)%nat) by apply skipn_length.
  rewrite E at 1. rewrite !chosen_app, La, Lb.
  rewrite (chosen_none choice (firstn a l)).
  2:{ intros y Hy. rewrite H by lia. destruct (Nat.leb_spec a y); [lia|reflexivity]. }
  rewrite (chosen_none choice (skipn b l)).
  2:{ intros y Hy. rewrite H by lia. destruct (Nat.ltb_spec y b); [lia|]. now rewrite andb_false_r. }
  rewrite (chosen_all choice (firstn (b - a) (skipn a l))); [ring|].
  intros y Hy. rewrite H by lia. destruct (Nat.leb_spec a y), (Nat.ltb_spec y b); reflexivity || lia.
Qed.

Lemma sums_from_below_length l : length (sums_from_below l) = length l.
Proof. destruct l as [|x l]; [reflexivity|]. apply accumulate_length. Qed.

Lemma sums_from_below_nth l i : (i < length l)%nat -> nth i (sums_from_below l) 0 = Zsum (firstn (S i) l).
Proof.
  destruct l as [|x l]; cbn [length]; intro Hi; [lia|]. cbn [sums_from_below].
  rewrite accumulate_nth by lia. reflexivity.
Qed.

Lemma sums_from_above_length l : length (sums_from_above l) = length l.
Proof.
  unfold sums_from_above. rewrite !rev_append_rev, !app_nil_r, rev_length, sums_from_below_length. apply rev_length.
Qed.

Lemma sums_from_above_nth l i : (i < length l)%nat -> nth i (sums_from_above l) 0 = Zsum (skipn i l).
Proof.
  intro Hi. unfold sums_from_above. rewrite !rev_append_rev, !app_nil_r.
  assert (L : length (sums_from_below (rev l)) = length l) by (rewrite sums_from_below_length; apply rev_length).
  rewrite rev_nth by lia. rewrite L, sums_from_below_nth by (rewrite rev_length; lia).
  rewrite firstn_rev, Zsum_rev. do 2 f_equal. lia.
Qed.

Lemma Zsum_plus {A} (f g : A -> Z) l : Zsum (map (fun a => f a + g a) l) = Zsum (map f l) + Zsum (map g l).
Proof. induction l as [|a l IH]; cbn [map Zsum fold_right]; [reflexivity|]. fold (Zsum (map (fun a => f a + g a) l)) (Zsum (map f l)) (Zsum (map g l)). lia. Qed.

Lemma Zsum_zero {A} (f : A -> Z) l : (forall a, In a l -> f a = 0) -> Zsum (map f l) = 0.
Proof.
  induction l as [|a l IH]; intro H; cbn [map Zsum fold_right]; [reflexivity|]. fold (Zsum (map f l)).
  rewrite (H a) by now left. rewrite IH; [reflexivity|]. intros b Hb. apply H. now right.
Qed.

Lemma Zsum_constant {A} (l : list A) w : Zsum (map (fun _ => w) l) = Z.of_nat (length l) * w.
Proof.
  induction l as [|a l IH]; [reflexivity|]. cbn [map Zsum fold_right length]. fold (Zsum (map (fun _ : A => w) l)).
  rewrite IH. lia.
Qed.

(** One of the places s..s+n-1. *)
Lemma Zsum_one w k n : forall s, (s <= k < s + n)%nat -> Zsum (map (fun o => if (k =? o)%nat then w else 0) (seq s n)) = w.
Proof.
  induction n as [|n IH]; intros s Hk; [lia|]. cbn [seq map Zsum fold_right].
  fold (Zsum (map (fun o => if (k =? o)%nat then w else 0) (seq (S s) n))).
  destruct (Nat.eqb_spec k s) as [->|Hne].
  - rewrite Zsum_zero; [lia|]. intros o Ho. apply in_seq in Ho. destruct (Nat.eqb_spec s o); [lia|reflexivity].
  - rewrite IH by lia. lia.
Qed.

(** Every noise leads to one of n outputs. *)
Lemma chosen_everywhere (f : nat -> nat) n l : (forall x, (f x < n)%nat) ->
  forall x, Zsum (map (fun o => chosen (fun y => (f y =? o)%nat) x l) (seq 0 n)) = Zsum l.
Proof.
  intros Hf. induction l as [|w l IH]; intro x; cbn [chosen].
  - now apply Zsum_zero.
  - rewrite Zsum_plus, IH. cbn [Zsum fold_right]. fold (Zsum l). f_equal. apply Zsum_one. specialize (Hf x). lia.
Qed.

Lemma chosen_linear {A} choice s (f : nat -> A -> Z) L : forall x,
  Zsum (map (fun a => chosen choice x (map (f a) L)) s) = chosen choice x (map (fun b => Zsum (map (fun a => f a b) s)) L).
Proof.
  induction L as [|b L IH]; intro x; cbn [map chosen]; [now apply Zsum_zero|].
  rewrite Zsum_plus, IH. f_equal. destruct (choice x); [reflexivity|now apply Zsum_zero].
Qed.

Lemma Zsum_grid (f : nat -> Z) w n :
  Zsum (map f (seq 0 (n * w))) = Zsum (map (fun y => Zsum (map (fun x => f (y * w + x)%nat) (seq 0 w))) (seq 0 n)).
Proof.
  induction n as [|n IH]; [reflexivity|]. rewrite seq_S, map_app, Zsum_app, <- IH. cbn [Nat.mul].
  rewrite (Nat.add_comm w), seq_app, map_app, Zsum_app. f_equal. cbn [map Zsum fold_right Nat.add].
  rewrite Z.add_0_r, <- (Nat.add_0_r (n * w)) at 1. rewrite seq_plus, map_map. reflexivity.
Qed.

(** ** One axis: what a cell gathers is an entry of one of its sides, by cell minus answer *)
Lemma nth_firstn (l : list Z) : forall n i, (i < n)%nat -> nth i (firstn n l) 0 = nth i l 0.
Proof. induction l as [|x l IH]; intros [|n] [|i] H; cbn; try lia; auto. apply IH. lia. Qed.

Lemma sides_length size side l : In side (sides size) -> length l = (size + size + 1)%nat -> length (snd side l) = fst side.
Proof.
  unfold sides. intros H L. apply in_app_or in H as [H|[<-|[<-|[]]]]; cbn [fst snd].
  - destruct (2 <=? size)%nat; [|easy]. destruct H as [<-|[]]. cbn [fst snd]. unfold inside.
    rewrite firstn_length, skipn_length. lia.
  - unfold at_first. rewrite firstn_length, sums_from_below_length. lia.
  - unfold at_last. rewrite skipn_length, sums_from_above_length. lia.
Qed.

Lemma gathered size o : (o <= size)%nat -> exists side base, In side (sides size) /\
  forall l j, length l = (size + size + 1)%nat -> (j <= size)%nat ->
  exists place, Z.of_nat place = base - Z.of_nat j /\ (place < fst side)%nat /\ gather size j o l = nth place (snd side l) 0.
Proof.
  intro Ho. unfold sides, gather. destruct (Nat.eq_dec o 0) as [->|H0]; [|destruct (Nat.eq_dec o size) as [->|H1]].
  - exists ((size + 1)%nat, at_first size), (Z.of_nat size). split; [apply in_or_app; right; now left|].
    intros l j L Hj. exists (size - j)%nat. cbn [fst snd]. split; [lia|]. split; [lia|].
    unfold at_first. rewrite nth_firstn by lia. rewrite sums_from_below_nth by lia.
    rewrite (chosen_between _ _ 0 (S (size - j))); [cbn [skipn]; do 2 f_equal; lia|lia|].
    intros y Hy. unfold report. cbn [Nat.leb]. cbn [andb].
    destruct (Nat.eqb_spec (Nat.min size (j + y - size)) 0), (Nat.ltb_spec y (S (size - j))); try reflexivity; lia.
  - exists ((size + 1)%nat, at_last size), (Z.of_nat size). split; [apply in_or_app; right; right; now left|].
    intros l j L Hj. exists (size - j)%nat. cbn [fst snd]. split; [lia|]. split; [lia|].
    unfold at_last. rewrite nth_skipn', sums_from_above_nth by lia.
    rewrite (chosen_between _ _ (size + size - j) (length l)).
    + rewrite firstn_all2 by (rewrite skipn_length; lia). do 2 f_equal. lia.
    + lia.
    + intros y Hy. unfold report. destruct (Nat.ltb_spec y (length l)); [|lia]. rewrite andb_true_r.
      destruct (Nat.eqb_spec (Nat.min size (j + y - size)) size), (Nat.leb_spec (size + size - j) y); try reflexivity; lia.
  - exists ((2 * size - 1)%nat, inside size), (Z.of_nat (o + size) - 1). split.
    { apply in_or_app. left. destruct (Nat.leb_spec 2 size); [now left|lia]. }
    intros l j L Hj. exists (o + size - 1 - j)%nat. cbn [fst snd]. split; [lia|]. split; [lia|].
    unfold inside. rewrite nth_firstn by lia. rewrite nth_skipn'.
    rewrite (chosen_between _ _ (o + size - j) (S (o + size - j))).
    + replace (1 + (o + size - 1 - j))%nat with (o + size - j)%nat by lia.
      replace (S (o + size - j) - (o + size - j))%nat with 1%nat by lia.
      rewrite <- (Nat.add_0_r (o + size - j)) at 2. rewrite <- nth_skipn'.
      destruct (skipn (o + size - j) l) as [|w rest] eqn:E; [|cbn; lia].
      apply (f_equal (@length Z)) in E. rewrite skipn_length in E. cbn in E. lia.
    + lia.
    + intros y Hy. unfold report.
      destruct (Nat.eqb_spec (Nat.min size (j + y - size)) o), (Nat.leb_spec (o + size - j) y), (Nat.ltb_spec y (S (o + size - j)));
        cbn [andb]; try reflexivity; lia.
Qed.

(** ** Entries that are a move apart *)
Lemma nth_skipn {A} (d : A) (l : list A) : forall a i, nth i (skipn a l) d = nth (a + i) l d.
Proof. induction l as [|x l IH]; intros [|a] i; cbn; auto. destruct i; reflexivity. Qed.

Lemma apart_by_sound {A} (d : A) (f : A * A -> bool) steps l l' : forallb f (apart_by steps l l') = true ->
  forall i k, (i < length l)%nat -> (k < length l')%nat -> Z.of_nat i - Z.of_nat k = steps -> f (nth i l d, nth k l' d) = true.
Proof.
  intros H i k Hi Hk E. unfold apart_by in H.
  pose proof (forallb_combine f _ _ d H (i - Z.to_nat steps)%nat) as G. rewrite !skipn_length in G.
  specialize (G ltac:(lia) ltac:(lia)). rewrite !nth_skipn in G.
  replace (Z.to_nat steps + (i - Z.to_nat steps))%nat with i in G by lia.
  replace (Z.to_nat (- steps) + (i - Z.to_nat steps))%nat with k in G by lia. exact G.
Qed.

(** ** The ratio is at least one *)
Lemma taylor_rises n d : 0 <= n -> 0 < d -> forall fuel k t sum, 0 <= k -> 0 <= t -> sum <= taylor fuel n d k t sum.
Proof.
  intros Hn Hd. induction fuel as [|fuel IH]; intros k t sum Hk Ht; cbn [taylor]; [lia|].
  destruct (t =? 0); [lia|].
  assert (0 <= t * n / (d * (k + 1))) by (apply Z.div_pos; nia).
  specialize (IH (k + 1) (t * n / (d * (k + 1))) (sum + t * n / (d * (k + 1))) ltac:(lia) H). lia.
Qed.

Lemma squarings_rise s : forall sum, 2 ^ BITS <= sum -> 2 ^ BITS <= squarings s sum.
Proof.
  induction s as [|s IH]; intros sum H; cbn [squarings]; [assumption|]. apply IH.
  rewrite Z.shiftr_div_pow2 by easy. assert (0 < 2 ^ BITS) by reflexivity.
  apply Z.div_le_lower_bound; [assumption|]. nia.
Qed.

Lemma exp_below_one n d : 0 <= n -> 0 < d -> Q <= exp_below n d.
Proof.
  intros Hn Hd. unfold exp_below. rewrite Z.shiftr_div_pow2 by easy.
  apply Z.div_le_lower_bound; [reflexivity|]. change (2 ^ (BITS - EXP_BITS) * Q) with (2 ^ BITS).
  apply squarings_rise. apply taylor_rises; try lia.
Qed.

Lemma ratio_below_one en ed dn dd : 0 <= en -> 0 < ed -> 0 <= dn -> 0 < dd -> Q <= ratio_below en ed dn dd.
Proof.
  intros. unfold ratio_below. destruct (en * dn <=? CAP * (ed * dd)); apply exp_below_one; nia || easy.
Qed.

(** * Soundness *)
Lemma fold_add_Zsum l : forall a, fold_left Z.add l a = a + Zsum l.
Proof. induction l as [|x l IH]; intro a; cbn [fold_left Zsum fold_right]; [lia|]. fold (Zsum l). rewrite IH. lia. Qed.

Lemma table_sum_spec T : table_sum T = Zsum (map Zsum T).
Proof.
  unfold table_sum. assert (E : forall a, fold_left (fun sum row => fold_left Z.add row sum) T a = a + Zsum (map Zsum T)).
  { induction T as [|row T IH]; intro a; [cbn; lia|].
    change (Zsum (map Zsum (row :: T))) with (Zsum row + Zsum (map Zsum T)). cbn [fold_left].
    rewrite IH, fold_add_Zsum. lia. }
  rewrite E. lia.
Qed.

Section Checked.
  Variables (r c : nat) (T : list (list Z)) (u : Z) (moves : list move) (en ed : Z).
  Hypothesis accepted : check_plane r c T u moves en ed = true.
  Let width := (c + 1)%nat.
  Let cells := ((r + 1) * width)%nat.

  Lemma plane_facts : (0 <= en /\ 0 < ed /\ length T = (r + r + 1)%nat /\ 0 <= u /\ 0 <= rest_of r c T u) /\
    (forall row, In row T -> length row = (c + c + 1)%nat /\ forall w, In w row -> 0 <= w).
  Proof.
    unfold check_plane in accepted. rewrite !andb_true_iff in accepted.
    destruct accepted as [[[[[[He Hd] HL] Hrows] Hu] Hr] _].
    apply Z.leb_le in He, Hu, Hr. apply Z.ltb_lt in Hd. apply Nat.eqb_eq in HL. split; [auto|].
    rewrite forallb_forall in Hrows. intros row Hin. specialize (Hrows row Hin). apply andb_true_iff in Hrows as [L P].
    apply Nat.eqb_eq in L. split; [assumption|]. rewrite forallb_forall in P. intros w Hw. apply Z.leb_le. auto.
  Qed.

  Lemma gather_nonneg j o row : In row T -> 0 <= gather c j o row.
  Proof. intro H. apply chosen_nonneg. now apply plane_facts. Qed.

  Lemma cell_weight_nonneg j o : 0 <= cell_weight r c T u j o.
  Proof.
    destruct plane_facts as [(_ & _ & _ & Hu & Hr) _]. unfold cell_weight.
    assert (0 <= gather r (j / (c + 1)) (o / (c + 1)) (map (gather c (j mod (c + 1)) (o mod (c + 1))) T)).
    { apply chosen_nonneg. intros w Hw. apply in_map_iff in Hw as (row & <- & Hrow). now apply gather_nonneg. }
    destruct (o =? 0)%nat; lia.
  Qed.

  (** Two answers that are a move apart, on the map. *)
  Definition moved (m : move) (j k : nat) : Prop :=
    (j < cells)%nat /\ (k < cells)%nat /\
    down m = Z.of_nat (k / width) - Z.of_nat (j / width) /\ right m = Z.of_nat (k mod width) - Z.of_nat (j mod width).

  Lemma on_map i : (i < cells)%nat -> (i / width <= r /\ i mod width <= c)%nat.
  Proof.
    intro H. assert (width <> 0%nat) by (unfold width; lia). pose proof (Nat.mod_upper_bound i width H0).
    assert (i / width < r + 1)%nat by (apply Nat.div_lt_upper_bound; [assumption|]; unfold cells in H; lia).
    unfold width in *. lia.
  Qed.

  Theorem check_plane_sound m j k o : In m moves -> moved m j k -> (o < cells)%nat ->
    cell_weight r c T u j o * Q <= ratio_below en ed (num (far m)) (den (far m)) * cell_weight r c T u k o.
  Proof.
    intros Hm (Hj & Hk & Ed & Er) Ho. destruct plane_facts as [(He & Hd & HL & Hu & Hr) Hrows].
    pose proof accepted as A. unfold check_plane in A. apply andb_true_iff in A as [_ A].
    rewrite forallb_forall in A. specialize (A m Hm). rewrite !andb_true_iff in A. destruct A as [[Fn Fd] A].
    apply Z.leb_le in Fn. apply Z.ltb_lt in Fd.
    pose proof (ratio_below_one en ed _ _ He Hd Fn Fd) as One.
    set (p := ratio_below en ed (num (far m)) (den (far m))) in *.
    destruct (on_map j Hj) as [Jy Jx]. destruct (on_map k Hk) as [Ky Kx]. destruct (on_map o Ho) as [Oy Ox].
    destruct (gathered r (o / width)%nat Oy) as (side & base & Hside & G).
    destruct (gathered c (o mod width) Ox) as (across & base' & Hacross & G').
    set (C := columns (fst across) (map (snd across) T)).
    assert (Lrows : forall row, In row (map (snd across) T) -> length row = fst across).
    { intros row Hin. apply in_map_iff in Hin as (row' & <- & Hin). apply sides_length with c; [assumption|].
      now apply Hrows. }
    destruct (columns_spec (fst across) _ Lrows) as [LC NC]. fold C in LC, NC.
    set (family := map (snd side) C).
    assert (Hf : In family (families r c T)).
    { unfold families. apply in_flat_map. exists across. split; [assumption|].
      apply in_map_iff. exists side. split; [reflexivity|assumption]. }
    rewrite forallb_forall in A. specialize (A family Hf). unfold family_keeps in A.
    (* what a cell gathers under an answer, in the family *)
    assert (Place : forall i, (i < cells)%nat -> exists a b, Z.of_nat a = base - Z.of_nat (i / width) /\
              Z.of_nat b = base' - Z.of_nat (i mod width) /\ (b < length family)%nat /\ (a < length (nth b family []))%nat /\
              gather r (i / width) (o / width) (map (gather c (i mod width) (o mod width)) T) = nth a (nth b family []) 0).
    { intros i Hi. destruct (on_map i Hi) as [Iy Ix].
      destruct (G' (repeat 0 (c + c + 1)) (i mod width)%nat ltac:(apply repeat_length) Ix) as (b & Eb & Lb & _).
      assert (V : map (gather c (i mod width) (o mod width)) T = nth b C []).
      { rewrite NC by assumption. rewrite map_map. apply map_ext_in. intros row Hrow.
        destruct (G' row (i mod width)%nat ltac:(now apply Hrows) Ix) as (b' & Eb' & _ & E). rewrite E. f_equal. lia. }
      destruct (G (nth b C []) (i / width)%nat) as (a & Ea & La & E).
      { rewrite <- V, map_length. exact HL. }
      { exact Iy. }
      assert (N : nth b family [] = snd side (nth b C [])).
      { unfold family. rewrite (nth_indep _ _ (snd side [])) by (rewrite map_length; lia). apply map_nth. }
      exists a, b. repeat split; try assumption.
      - unfold family. rewrite map_length. lia.
      - rewrite N, (sides_length r side); [assumption|assumption|]. rewrite <- V, map_length. exact HL.
      - rewrite N, V. exact E. }
    destruct (Place j Hj) as (a & b & Ea & Eb & Lb & La & Wj). destruct (Place k Hk) as (a' & b' & Ea' & Eb' & Lb' & La' & Wk).
    pose proof (apart_by_sound [] _ _ _ _ A b b' Lb Lb' ltac:(lia)) as B. cbn [fst snd] in B.
    pose proof (apart_by_sound 0 _ _ _ _ B a a' La La' ltac:(lia)) as P. cbn [fst snd] in P. apply pair_ok_spec in P.
    unfold cell_weight. fold width. rewrite Wj, Wk. destruct (o =? 0)%nat; nia.
  Qed.

  (** ** The masses sum to one *)
  Lemma cell_weights_sum j : Zsum (map (cell_weight r c T u j) (seq 0 cells)) = TOTAL.
  Proof.
    unfold cell_weight. rewrite !Zsum_plus.
    assert (Noise : Zsum (map (fun o => gather r (j / width) (o / width) (map (gather c (j mod width) (o mod width)) T)) (seq 0 cells))
                    = table_sum T).
    { unfold cells. rewrite Zsum_grid.
      rewrite (map_ext_in _ (fun y => gather r (j / width) y (map Zsum T))).
      - unfold gather. rewrite chosen_everywhere by (intro x; unfold report; lia). symmetry. apply table_sum_spec.
      - intros y _. rewrite (map_ext_in _ (fun x => gather r (j / width) y (map (gather c (j mod width) x) T))).
        + unfold gather at 1. rewrite (chosen_linear _ (seq 0 width) (fun x => gather c (j mod width) x)).
          unfold gather at 2. f_equal. apply map_ext. intro row. unfold gather, width. apply chosen_everywhere.
          intro x. unfold report. lia.
        + intros x Hx. apply in_seq in Hx. assert (W : width <> 0%nat) by (unfold width; lia).
          assert (Ex : ((y * width + x) / width = y /\ (y * width + x) mod width = x)%nat).
          { rewrite (Nat.add_comm (y * width)), Nat.div_add, Nat.mod_add, (Nat.div_small x), (Nat.mod_small x) by lia. lia. }
          destruct Ex as [-> ->]. reflexivity. }
    assert (Constant : Zsum (map (fun _ : nat => u) (seq 0 cells)) = Z.of_nat cells * u).
    { rewrite Zsum_constant, seq_length. reflexivity. }
    assert (Rest : Zsum (map (fun o => if (o =? 0)%nat then rest_of r c T u else 0) (seq 0 cells)) = rest_of r c T u).
    { rewrite (map_ext _ (fun o => if (0 =? o)%nat then rest_of r c T u else 0)) by (intro o; now rewrite Nat.eqb_sym).
      apply Zsum_one. unfold cells, width. lia. }
    fold width. rewrite Noise, Constant, Rest. unfold rest_of, cells, width. lia.
  Qed.

  Open Scope R_scope.

  Lemma noisy_mass_pos j o : 0 <= mass (noisy_cell r c T u) j o.
  Proof.
    cbn. apply Rmult_le_pos; [apply IZR_le, cell_weight_nonneg|]. left. apply Rinv_0_lt_compat, TOTAL_pos.
  Qed.

  Lemma noisy_distribution j : distribution (noisy_cell r c T u) j.
  Proof.
    split; [apply noisy_mass_pos|]. unfold Pr. cbn [noisy_cell outs mass]. fold width. fold cells.
    rewrite (rsum_Zsum (seq 0 cells) (cell_weight r c T u j)), cell_weights_sum. pose proof TOTAL_pos. field. lra.
  Qed.

  Theorem plane_distribution target j : (forall o, (o < cells)%nat -> (target o < cells)%nat) ->
    distribution (plane_law r c T u target) j.
  Proof.
    intro Ht. destruct (noisy_distribution j) as [_ One]. split.
    - intro i. cbn [plane_law mass]. apply rsum_nonneg. intros o _. destruct (_ =? _)%nat; [apply noisy_mass_pos|lra].
    - unfold Pr in *. cbn [plane_law outs mass] in *. unfold Pr. rewrite rsum_swap. rewrite <- One. apply rsum_ext.
      intros o Ho. cbn [noisy_cell outs] in Ho |- *. fold width in Ho |- *. fold cells in Ho |- *. apply in_seq in Ho.
      specialize (Ht o ltac:(lia)). apply (rsum_single cells); lia.
  Qed.

  (** ** Every edge along a move that was compared, at its length or more *)
  Definition serves (e : edge) : Prop :=
    exists m, In m moves /\ moved m (tail e) (head e) /\ real (far m) <= edge_length e.

  Theorem plane_pointwise target e : serves e -> forall i,
    mass (plane_law r c T u target) (tail e) i <= exp (eps en ed * edge_length e) * mass (plane_law r c T u target) (head e) i.
  Proof.
    intros (m & Hm & Hmove & Hfar) i. cbn [plane_law mass]. unfold Pr. rewrite <- rsum_scale. apply rsum_le.
    intros o Ho. cbn [noisy_cell outs mass] in *. apply in_seq in Ho. fold width in Ho. fold cells in Ho.
    destruct (target o =? i)%nat; [|lra].
    destruct plane_facts as [(He & Hd & _) _].
    assert (F : (0 <= num (far m) /\ 0 < den (far m))%Z).
    { pose proof accepted as A. unfold check_plane in A. apply andb_true_iff in A as [_ A].
      rewrite forallb_forall in A. specialize (A m Hm). rewrite !andb_true_iff in A. destruct A as [[A B] _].
      apply Z.leb_le in A. apply Z.ltb_lt in B. now split. }
    destruct (ratio_below_sound en ed _ _ He Hd (proj1 F) (proj2 F)) as [_ Hexp].
    pose proof (check_plane_sound m _ _ o Hm Hmove ltac:(lia)) as G.
    eapply Rle_trans; [apply (scaled _ _ _ _ (cell_weight_nonneg (head e) o) Hexp G)|].
    apply Rmult_le_compat_r; [exact (noisy_mass_pos (head e) o)|]. apply exp_le.
    change (IZR en / IZR ed) with (eps en ed). apply Rmult_le_compat_l; [|exact Hfar].
    apply Rmult_le_pos; [now apply IZR_le|]. left. apply Rinv_0_lt_compat. now apply IZR_pos.
  Qed.
  Close Scope R_scope.
End Checked.

(** ** The moves of a map serve all of its edges *)
Lemma frac_le_real a b : 0 < den a -> 0 < den b -> frac_le a b = true -> (real a <= real b)%R.
Proof.
  intros Ha Hb H. unfold frac_le in H. apply Z.leb_le in H. apply IZR_le in H. rewrite !mult_IZR in H.
  apply IZR_pos in Ha, Hb. unfold real. apply Rmult_le_reg_r with (IZR (den a)); [assumption|].
  apply Rmult_le_reg_r with (IZR (den b)); [assumption|].
  replace (IZR (num a) / IZR (den a) * IZR (den a) * IZR (den b))%R with (IZR (num a) * IZR (den b))%R by (field; lra).
  replace (IZR (num b) / IZR (den b) * IZR (den a) * IZR (den b))%R with (IZR (num b) * IZR (den a))%R by (field; lra). exact H.
Qed.

Definition listed (m : move) (moves : list move) : Prop :=
  exists m', In m' moves /\ down m' = down m /\ right m' = right m /\ (real (far m') <= real (far m))%R.

Definition all_exact (moves : list move) : Prop := forall m, In m moves -> 0 < den (far m).

Lemma add_move_spec room m : forall moves added, add_move room m moves = Some added ->
  0 < den (far m) -> all_exact moves -> all_exact added /\ listed m added /\ forall m', listed m' moves -> listed m' added.
Proof.
  induction room as [|room IH]; intros moves added H Hm Hx; [discriminate|]. destruct moves as [|m1 moves]; cbn [add_move] in H.
  - injection H as <-. split; [|split].
    + intros m' [<-|[]]. assumption.
    + exists m. repeat split; [now left|lra].
    + intros m' (m2 & [] & _).
  - assert (Hm1 : 0 < den (far m1)) by (apply Hx; now left).
    destruct ((down m =? down m1) && (right m =? right m1)) eqn:E.
    + apply andb_true_iff in E as [Ed Er]. apply Z.eqb_eq in Ed, Er. injection H as <-.
      set (best := if frac_le (far m1) (far m) then m1 else m).
      assert (B : 0 < den (far best) /\ down best = down m /\ right best = right m /\
                  (real (far best) <= real (far m))%R /\ (real (far best) <= real (far m1))%R).
      { unfold best. destruct (frac_le (far m1) (far m)) eqn:F.
        - repeat split; auto; try lra. now apply frac_le_real.
        - repeat split; auto; try lra. apply frac_le_real; [assumption|assumption|].
          unfold frac_le in *. apply Z.leb_gt in F. apply Z.leb_le. lia. }
      destruct B as (B0 & B1 & B2 & B3 & B4). split; [|split].
      * intros m' [<-|H]; [assumption|]. apply Hx. now right.
      * exists best. repeat split; auto. now left.
      * intros m' (m2 & [->|H] & C1 & C2 & C3).
        -- exists best. repeat split; [now left|congruence|congruence|lra].
        -- exists m2. repeat split; auto. now right.
    + destruct (add_move room m moves) as [rest|] eqn:F; [|discriminate]. injection H as <-.
      destruct (IH moves rest F Hm) as (A & B & C); [intros m' H; apply Hx; now right|]. split; [|split].
      * intros m' [<-|H]; auto.
      * destruct B as (m2 & H & D). exists m2. split; [now right|assumption].
      * intros m' (m2 & [->|H] & D).
        -- exists m2. split; [now left|assumption].
        -- destruct (C m' (ex_intro _ m2 (conj H D))) as (m3 & H3 & D3). exists m3. split; [now right|assumption].
Qed.

Section Moves.
  Variable width : Z.

  Definition add_edge (length : frac) (moves : option (list move)) (e : nat * nat) : option (list move) :=
    match moves with Some found => add_move MOST_MOVES (move_of width length e) found | None => None end.

  Lemma add_edges_none length l : fold_left (add_edge length) l None = None.
  Proof. induction l; auto. Qed.

  Lemma add_edges_spec length : 0 < den length -> forall l found moves, fold_left (add_edge length) l (Some found) = Some moves ->
    all_exact found -> all_exact moves /\ (forall e, In e l -> listed (move_of width length e) moves) /\
    forall m, listed m found -> listed m moves.
  Proof.
    intros Hl. induction l as [|e l IH]; intros found moves H Hx; cbn [fold_left add_edge] in H.
    - injection H as <-. repeat split; auto. easy.
    - destruct (add_move MOST_MOVES (move_of width length e) found) as [added|] eqn:E; [|now rewrite add_edges_none in H].
      destruct (add_move_spec _ _ _ _ E Hl Hx) as (A & B & C). destruct (IH added moves H A) as (A' & B' & C').
      repeat split; auto. intros e' [<-|He]; auto.
  Qed.

  Definition add_group (moves : option (list move)) (g : group) : option (list move) :=
    fold_left (add_edge (Frac (gnum g) (gden g))) (ends g) moves.

  Lemma add_groups_spec groups : (forall g, In g groups -> 0 < gden g) ->
    forall found moves, fold_left add_group groups (Some found) = Some moves ->
    all_exact found -> all_exact moves /\
    (forall g e, In g groups -> In e (ends g) -> listed (move_of width (Frac (gnum g) (gden g)) e) moves) /\
    forall m, listed m found -> listed m moves.
  Proof.
    induction groups as [|g groups IH]; intros Hg found moves H Hx; cbn [fold_left] in H.
    - injection H as <-. repeat split; auto. easy.
    - unfold add_group at 2 in H. destruct (fold_left (add_edge _) (ends g) (Some found)) as [added|] eqn:E.
      + destruct (add_edges_spec (Frac (gnum g) (gden g)) (Hg g (or_introl eq_refl)) _ _ _ E Hx) as (A & B & C).
        destruct (IH (fun g' H' => Hg g' (or_intror H')) added moves H A) as (A' & B' & C').
        repeat split; auto. intros g' e [<-|Hin] He; auto.
      + assert (N : forall l, fold_left add_group l None = None).
        { clear. induction l as [|g l IH]; [reflexivity|]. cbn [fold_left]. unfold add_group at 2. rewrite add_edges_none. exact IH. }
        rewrite N in H. discriminate.
  Qed.
End Moves.

(** * The promise of a passport *)
Section Accepted.
  Variables (p : passport) (t : plane_noise).
  Hypothesis accepted : check_map p t = true.
  Variable groups : list group.
  Hypothesis on_graph : near p = ByEdges groups.
  Let r := last_row t.
  Let c := last_column t.
  Let n := positions p.

  Lemma map_facts : exists moves,
    check_plane r c (step_weights t) (anywhere t) moves (num (epsilon p)) (den (epsilon p)) = true /\
    moves_of (Z.of_nat (c + 1)) groups = Some moves /\ n = ((r + 1) * (c + 1))%nat /\
    graph_ok (size_of (ticks (answers p))) groups = true /\
    match renamed t with
    | None => True
    | Some l => length l = n /\ forall cell, In cell l -> 0 <= cell < Z.of_nat n
    end.
  Proof.
    pose proof accepted as A. apply andb_true_iff in A as [Hq A]. unfold plane_ok in A. rewrite on_graph in A.
    destruct (labels p); [|discriminate]. rewrite !andb_true_iff in A. destruct A as [[[_ Hs] Hr] Hm]. apply Z.eqb_eq in Hs.
    destruct (moves_of _ groups) as [moves|] eqn:E; [|discriminate]. exists moves.
    assert (Hn : n = ((r + 1) * (c + 1))%nat).
    { unfold n, positions. rewrite <- Hs. unfold cells_of. apply Nat2Z.id. }
    repeat split; auto.
    - unfold query_ok in Hq. rewrite on_graph in Hq. rewrite !andb_true_iff in Hq. cbn [neighbours_ok] in Hq. tauto.
    - destruct (renamed t) as [l|]; [|exact I]. apply andb_true_iff in Hr as [L F]. apply Z.eqb_eq in L.
      rewrite length_Z_spec in L. unfold cells_of in *. fold r c in L, F. split; [lia|].
      rewrite forallb_forall in F. intros cell Hin. specialize (F cell Hin). apply andb_true_iff in F as [F1 F2].
      apply Z.leb_le in F1. apply Z.ltb_lt in F2. lia.
  Qed.

  Lemma map_serves moves e : moves_of (Z.of_nat (c + 1)) groups = Some moves -> In e (edges_of groups) ->
    serves r c moves e.
  Proof.
    intros Hm He. destruct map_facts as (_ & _ & _ & Hn & G & _).
    unfold graph_ok in G. rewrite !andb_true_iff in G. destruct G as [_ G]. rewrite forallb_forall in G.
    assert (Pos : forall g, In g groups -> 0 < gden g).
    { intros g Hg. specialize (G g Hg). rewrite !andb_true_iff, !Z.ltb_lt in G. tauto. }
    destruct (add_groups_spec (Z.of_nat (c + 1)) groups Pos [] moves Hm) as (_ & B & _); [easy|].
    apply in_flat_map in He as (g & Hg & He). apply in_map_iff in He as (e' & <- & He).
    destruct (B g e' Hg He) as (m & Hin & Ed & Er & Hf). exists m. split; [assumption|]. split; [|exact Hf].
    specialize (G g Hg). rewrite !andb_true_iff in G. destruct G as [_ G]. rewrite forallb_forall in G.
    specialize (G e' He). rewrite !andb_true_iff, !Z.ltb_lt in G. destruct G as [[_ Ht] Hh].
    assert (S : size_of (ticks (answers p)) <= Z.of_nat n) by (unfold n, positions; lia).
    unfold moved. cbn [tail head]. rewrite Ed, Er. unfold move_of. cbn [down right].
    rewrite !Nat2Z.inj_div, !Nat2Z.inj_mod. repeat split; lia.
  Qed.

  Open Scope R_scope.

  Theorem map_edges e : In e (edges_of groups) -> forall i, In i (outs (map_law t)) ->
    mass (map_law t) (tail e) i <= exp (real (epsilon p) * edge_length e) * mass (map_law t) (head e) i.
  Proof.
    intros He i _. destruct map_facts as (moves & Hc & Hm & _). 
    exact (plane_pointwise r c _ _ moves _ _ Hc (target (renamed t)) e (map_serves moves e Hm He) i).
  Qed.

  Theorem map_distribution j : (j < n)%nat -> distribution (map_law t) j.
  Proof.
    intros _. destruct map_facts as (moves & Hc & _ & Hn & _ & Hr).
    apply (plane_distribution r c _ _ moves _ _ Hc). intros o Ho. rewrite <- Hn in *. unfold target.
    destruct (renamed t) as [l|]; [|assumption]. destruct Hr as [L F].
    specialize (F (nth o l 0%Z) ltac:(apply nth_In; lia)). lia.
  Qed.

  (** For every path, so for a shortest one. *)
  Theorem map_private d : private (fun j k => path (edges_of groups) j k d) (real (epsilon p) * d) (map_law t).
  Proof. exact (along_path_private (map_law t) _ _ map_edges d). Qed.

  Theorem map_promise {D} (near : D -> D -> Prop) (answer : D -> nat) d :
    (forall db db', near db db' -> path (edges_of groups) (answer db) (answer db') d) ->
    private near (real (epsilon p) * d) (ask answer (map_law t)).
  Proof. exact (along_path_promise (map_law t) _ _ map_edges near answer d). Qed.
End Accepted.
