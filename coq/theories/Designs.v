(** The families of sets of labels of trusted/block_designs.py: all subsets of a size, affine sets modulo a prime, and the
    hyperplanes of a projective space over a prime field. [place] is Python's map from indices to sets.

    affine_covers, subset_covers, plane_covers  every set is the place of some index, whatever the label
    affine_holds, subset_holds, plane_holds     and holds the label exactly where the place says so
    design_covers, design_holding               hence for every family that is accepted: every label lies in exactly
                                                [holding] of its [blocks] sets *)
From Coq Require Import ZArith Znumtheory List Bool Lia Arith Sorted.
From Inbounds Require Import Alias Words Blocks Digits Prime.
Import ListNotations.
Open Scope Z_scope.

(** * Affine sets: block (a, b), numbered (a - 1) * modulus + b, holds x where (a * x + b) mod modulus < size *)
Section Affine.
  Variables (modulus size : Z) (x : Z).
  Hypothesis fits : 0 < size < modulus.

  Definition affine_place (side : bool) (i : Z) : Z :=
    let values := if side then size else modulus - size in
    let value := i mod values in
    i / values * modulus + ((if side then value else size + value) - (i / values + 1) * x) mod modulus.

  Definition affine_has (b : Z) : bool := ((b / modulus + 1) * x + b mod modulus) mod modulus <? size.

  Lemma affine_covers : every_block (modulus * (modulus - 1)) (size * (modulus - 1)) affine_place.
  Proof.
    intros b Hb. pose proof (Z.div_mod b modulus ltac:(lia)) as D. pose proof (Z.mod_pos_bound b modulus ltac:(lia)) as M.
    set (f := b / modulus) in *. set (o := b mod modulus) in *.
    assert (F : 0 <= f < modulus - 1) by (split; [apply Z.div_pos|apply Z.div_lt_upper_bound]; lia).
    set (c := ((f + 1) * x + o) mod modulus). assert (C : 0 <= c < modulus) by (apply Z.mod_pos_bound; lia).
    assert (O : (c - (f + 1) * x) mod modulus = o).
    { unfold c. rewrite Zminus_mod_idemp_l. replace ((f + 1) * x + o - (f + 1) * x) with o by ring. now apply Z.mod_small. }
    destruct (Z.lt_ge_cases c size) as [L|L].
    - exists true, (f * size + c). cbn [sets]. split; [nia|]. unfold affine_place.
      rewrite (Z.add_comm (f * size)), Z.div_add, Z.mod_add, (Z.div_small c), (Z.mod_small c size) by lia.
      rewrite Z.add_0_l, O. lia.
    - exists false, (f * (modulus - size) + (c - size)). cbn [sets]. split; [nia|]. unfold affine_place.
      rewrite (Z.add_comm (f * (modulus - size))), Z.div_add, Z.mod_add, (Z.div_small (c - size)), (Z.mod_small (c - size)) by lia.
      replace (size + (c - size)) with c by ring. rewrite Z.add_0_l, O. lia.
  Qed.

  Lemma affine_holds side i : affine_has (affine_place side i) = side.
  Proof.
    unfold affine_has, affine_place. set (values := if side then size else modulus - size).
    assert (V : 0 < values) by (unfold values; destruct side; lia). pose proof (Z.mod_pos_bound i values V) as M.
    set (c := if side then i mod values else size + i mod values).
    assert (C : 0 <= c < modulus /\ (c <? size) = side).
    { unfold c, values in *. destruct side; [split; [lia|now apply Z.ltb_lt]|split; [lia|apply Z.ltb_ge; lia]]. }
    destruct C as [C Cs]. clearbody c. set (f := i / values). set (o := (c - (f + 1) * x) mod modulus).
    assert (O : 0 <= o < modulus) by (apply Z.mod_pos_bound; lia).
    rewrite (Z.add_comm (f * modulus)), Z.div_add, Z.mod_add, (Z.div_small o), (Z.mod_small o) by lia.
    replace (((0 + f + 1) * x + o) mod modulus) with c; [exact Cs|]. unfold o.
    rewrite Zplus_mod_idemp_r. replace ((0 + f + 1) * x + (c - (f + 1) * x)) with c by ring. symmetry. now apply Z.mod_small.
  Qed.
End Affine.

(** * All sets of [k] of [n] labels, as bits in rising order *)
Fixpoint bits (n k : nat) : list Z :=
  match n, k with
  | _, O => [0]
  | O, S _ => []
  | S n', S k' => bits n' (S k') ++ map (fun v => v + power 2 n') (bits n' k')
  end.

Definition ones (n : nat) (v : Z) : Z := sum n (fun i => digit 2 i v).

Lemma ones_small n v : ones n v = ones n (v mod power 2 n).
Proof. apply sum_ext. intros i Hi. now rewrite digit_low by lia. Qed.

Lemma in_bits n : forall k v, In v (bits n k) <-> 0 <= v < power 2 n /\ ones n v = Z.of_nat k.
Proof.
  assert (Zero : forall n v, 0 <= v < power 2 n -> ones n v = 0 -> v = 0).
  { intros m v Hv H. apply (digits_zero 2 ltac:(lia) m v Hv). intros i Hi. unfold ones in H.
    assert (G : forall m f, (forall i, (i < m)%nat -> 0 <= f i) -> sum m f = 0 -> forall i, (i < m)%nat -> f i = 0).
    { clear. induction m as [|m IH]; intros f P S i Hi; [lia|]. cbn [sum] in S. pose proof (P m ltac:(lia)).
      assert (0 <= sum m f).
      { clear - P. induction m as [|m IH]; cbn [sum]; [lia|]. pose proof (P m ltac:(lia)). specialize (IH ltac:(intros; apply P; lia)). lia. }
      destruct (Nat.eq_dec i m) as [->|]; [lia|]. apply IH; [intros; apply P; lia|lia|lia]. }
    apply (G m (fun i => digit 2 i v)); auto. intros j _. apply digit_range. lia. }
  induction n as [|n IH]; intros k v.
  - destruct k as [|k]; cbn; unfold power; cbn; [|lia]. split; [intros [<-|[]]; lia|intros [H _]; left; lia].
  - assert (P : 0 < power 2 n) by (apply power_pos; lia).
    assert (Split : forall v, 0 <= v < power 2 (S n) -> (v < power 2 n /\ ones (S n) v = ones n v) \/
                      (power 2 n <= v /\ 0 <= v - power 2 n < power 2 n /\ ones (S n) v = ones n (v - power 2 n) + 1)).
    { intros u Hu. rewrite power_S in Hu by lia. unfold ones. cbn [sum]. destruct (Z.lt_ge_cases u (power 2 n)) as [L|L]; [left|right].
      - split; [assumption|]. unfold digit at 2. rewrite Z.div_small by lia. cbn. lia.
      - split; [assumption|]. split; [lia|]. fold (ones n u) (ones n (u - power 2 n)). rewrite (ones_small n u), (ones_small n (u - power 2 n)).
        replace (u - power 2 n) with (u + -1 * power 2 n) by ring. rewrite Z.mod_add by lia.
        unfold digit at 1. replace (u / power 2 n) with 1 by (apply Z.div_unique with (u - power 2 n); lia). reflexivity. }
    destruct k as [|k].
    + cbn [bits]. split.
      * intros [<-|[]]. pose proof (power_pos 2 ltac:(lia) (S n)). split; [lia|]. unfold ones.
        rewrite (sum_ext (S n) _ (fun _ => 0)); [apply sum_zero|]. intros i _. unfold digit. rewrite Z.div_0_l; [reflexivity|].
        pose proof (power_pos 2 ltac:(lia) i). lia.
      * intros [Hv Ho]. left. symmetry. now apply (Zero (S n)).
    + cbn [bits]. rewrite in_app_iff, in_map_iff, IH. split.
      * intros [[Hv Ho]|(u & <- & Hu)].
        -- assert (Hv' : 0 <= v < power 2 (S n)) by (rewrite power_S by lia; lia). split; [assumption|].
           destruct (Split v Hv') as [[_ E]|[L _]]; lia.
        -- apply IH in Hu as [Hu Ho]. assert (Hv' : 0 <= u + power 2 n < power 2 (S n)) by (rewrite power_S by lia; lia).
           split; [assumption|]. destruct (Split _ Hv') as [[L _]|(_ & _ & E)]; [lia|].
           replace (u + power 2 n - power 2 n) with u in E by ring. lia.
      * intros [Hv Ho]. destruct (Split v Hv) as [[L E]|(L & R & E)].
        -- left. lia.
        -- right. exists (v - power 2 n). split; [lia|]. apply IH. lia.
Qed.

Lemma bits_rising n : forall k, StronglySorted Z.lt (bits n k).
Proof.
  induction n as [|n IH]; intros [|k]; cbn [bits]; try (repeat constructor).
  assert (App : forall l l', StronglySorted Z.lt l -> StronglySorted Z.lt l' -> (forall a b, In a l -> In b l' -> a < b) ->
            StronglySorted Z.lt (l ++ l')).
  { induction l as [|a l IHl]; intros l' Sl Sl' H; [assumption|]. cbn. inversion Sl as [|? ? Sl0 F]; subst. constructor.
    - apply IHl; auto. intros; apply H; [now right|assumption].
    - rewrite Forall_forall in *. intros b Hb. apply in_app_iff in Hb as [Hb|Hb]; [auto|]. apply H; [now left|assumption]. }
  apply App; [apply IH| |].
  - generalize (IH k). generalize (bits n k). induction l as [|a l IHl]; intro S; cbn [map]; constructor; inversion S as [|? ? S0 F]; subst; auto.
    rewrite Forall_forall in *. intros b Hb. apply in_map_iff in Hb as (u & <- & Hu). specialize (F u Hu). lia.
  - intros a b Ha Hb. apply in_bits in Ha as [Ha _]. apply in_map_iff in Hb as (u & <- & Hu). apply in_bits in Hu as [Hu _]. lia.
Qed.

(** searchsorted: how many of a list come before a number. *)
Definition before (v : Z) (l : list Z) : nat := length (filter (fun u => u <? v) l).

Lemma before_nth l : StronglySorted Z.lt l -> forall i, (i < length l)%nat -> before (nth i l 0) l = i.
Proof.
  unfold before. induction 1 as [|a l S IH F]; intros i Hi; [cbn in Hi; lia|]. rewrite Forall_forall in F. cbn [length] in Hi.
  destruct i as [|i]; cbn [nth filter].
  - rewrite Z.ltb_irrefl. assert (N : filter (fun u => u <? a) l = []); [|now rewrite N].
    clear - F. induction l as [|b l IH]; [reflexivity|]. cbn [filter]. pose proof (F b (or_introl eq_refl)).
    destruct (Z.ltb_spec b a); [lia|]. apply IH. intros; apply F. now right.
  - assert (L : a < nth i l 0) by (apply F, nth_In; lia). apply Z.ltb_lt in L. rewrite L. cbn [length]. f_equal. apply IH. lia.
Qed.

Section Subsets.
  Variables (n k x : nat).
  Hypothesis label : (x < n)%nat.
  Hypothesis some : (0 < k)%nat.

  (** The sets of the other labels, from which those with and without the label are made. *)
  Definition other_sets (side : bool) : list Z := bits (n - 1) (if side then k - 1 else k).

  Definition subset_place (side : bool) (i : Z) : Z :=
    Z.of_nat (before (put 2 x (if side then 1 else 0) (nth (Z.to_nat i) (other_sets side) 0)) (bits n k)).

  Definition subset_has (b : Z) : bool := digit 2 x (nth (Z.to_nat b) (bits n k) 0) =? 1.

  Lemma ones_taken v : ones n v = ones (n - 1) (take 2 x v) + digit 2 x v.
  Proof.
    unfold ones. replace n with (S (n - 1)) at 1 by lia. rewrite (sum_without (n - 1) x) by lia. f_equal.
    apply sum_ext. intros i _. rewrite digit_take by lia. reflexivity.
  Qed.

  Lemma bits_split : length (bits n k) = (length (other_sets true) + length (other_sets false))%nat.
  Proof.
    unfold other_sets. destruct n as [|m]; [lia|]. destruct k as [|j]; [lia|]. cbn [bits].
    replace (S m - 1)%nat with m by lia. replace (S j - 1)%nat with j by lia. rewrite app_length, map_length. lia.
  Qed.

  Lemma put_in_bits side i : 0 <= i < Z.of_nat (length (other_sets side)) ->
    In (put 2 x (if side then 1 else 0) (nth (Z.to_nat i) (other_sets side) 0)) (bits n k) /\
    digit 2 x (put 2 x (if side then 1 else 0) (nth (Z.to_nat i) (other_sets side) 0)) = if side then 1 else 0.
  Proof.
    intro Hi. assert (R : In (nth (Z.to_nat i) (other_sets side) 0) (other_sets side)) by (apply nth_In; lia).
    set (r := nth _ _ _) in *. unfold other_sets in R. apply in_bits in R as [R O].
    assert (C : 0 <= (if side then 1 else 0) < 2) by (destruct side; lia).
    assert (D : digit 2 x (put 2 x (if side then 1 else 0) r) = if side then 1 else 0).
    { rewrite digit_put by lia. rewrite Nat.ltb_irrefl, Nat.eqb_refl. reflexivity. }
    split; [|exact D]. apply in_bits. replace n with (S (n - 1)) at 1 by lia. split; [apply put_range; lia|].
    rewrite ones_taken, D.
    assert (T : ones (n - 1) (take 2 x (put 2 x (if side then 1 else 0) r)) = ones (n - 1) r).
    { apply sum_ext. intros i0 _. rewrite digit_take, !digit_put by lia.
      destruct (Nat.ltb_spec i0 x); [reflexivity|]. destruct (Nat.ltb_spec (S i0) x); [lia|]. destruct (Nat.eqb_spec (S i0) x); [lia|].
      f_equal. lia. }
    rewrite T, O. destruct side; lia.
  Qed.

  Lemma subset_covers : every_block (Z.of_nat (length (bits n k))) (Z.of_nat (length (other_sets true))) subset_place.
  Proof.
    intros b Hb. set (v := nth (Z.to_nat b) (bits n k) 0). assert (V : In v (bits n k)) by (apply nth_In; lia).
    apply in_bits in V as [R O]. pose proof (digit_range 2 ltac:(lia) x v) as D.
    set (side := digit 2 x v =? 1). assert (E : digit 2 x v = if side then 1 else 0) by (unfold side; destruct (Z.eqb_spec (digit 2 x v) 1); lia).
    assert (T : In (take 2 x v) (other_sets side)).
    { unfold other_sets. apply in_bits. split; [apply take_range; try lia; now replace (S (n - 1)) with n by lia|].
      pose proof (ones_taken v). destruct side; lia. }
    apply (In_nth _ _ 0) in T as (i & Hi & Ei). exists side, (Z.of_nat i). split.
    - unfold sets. pose proof bits_split. destruct side; lia.
    - unfold subset_place. rewrite Nat2Z.id, Ei, <- E, put_taken by lia. unfold v. rewrite before_nth; [lia|apply bits_rising|lia].
  Qed.

  Lemma subset_holds side i : 0 <= i < sets (Z.of_nat (length (bits n k))) (Z.of_nat (length (other_sets true))) side ->
    subset_has (subset_place side i) = side.
  Proof.
    intro Hi. assert (Hi' : 0 <= i < Z.of_nat (length (other_sets side))).
    { pose proof bits_split. unfold sets in Hi. destruct side; lia. }
    destruct (put_in_bits side i Hi') as [V D]. unfold subset_has, subset_place. rewrite Nat2Z.id.
    apply (In_nth _ _ 0) in V as (b & Hb & Eb). rewrite <- Eb. rewrite before_nth by (auto using bits_rising). rewrite Eb, D.
    now destruct side.
  Qed.
End Subsets.

(** Their number, by Pascal's rows. *)
Fixpoint next_row (last : Z) (row : list Z) : list Z :=
  match row with [] => [last] | c :: rest => last + c :: next_row c rest end.

Fixpoint binomials (n : nat) : list Z := match n with O => [1] | S n' => next_row 0 (binomials n') end.

Lemma next_row_nth row : forall last k, nth k (next_row last row) 0 = (match k with O => last | S j => nth j row 0 end) + nth k row 0.
Proof.
  induction row as [|c row IH]; intros last [|k].
  - cbn. lia.
  - cbn. destruct k; reflexivity.
  - cbn. lia.
  - cbn [next_row]. change (nth (S k) (last + c :: next_row c row) 0) with (nth k (next_row c row) 0). rewrite IH. destruct k; reflexivity.
Qed.

Lemma binomials_bits n : forall k, nth k (binomials n) 0 = Z.of_nat (length (bits n k)).
Proof.
  induction n as [|n IH]; intro k; cbn [binomials].
  - destruct k as [|[|k]]; reflexivity.
  - rewrite next_row_nth, IH. destruct k as [|k]; cbn [bits].
    + destruct n; reflexivity.
    + rewrite IH, app_length, map_length. lia.
Qed.

(** * Points and hyperplanes of a projective space: block a holds x where their product is 0 *)
Section Planes.
  Variables (q : Z) (d : nat).
  Hypothesis q_prime : prime q.

  (** The number of points of a space of so many digits. *)
  Definition points (n : nat) : Z := sum n (power q).

  (** The place of the highest digit: of a point by its number, and of a vector as a number. *)
  Fixpoint top_point (n : nat) (p : Z) : nat :=
    match n with O => O | S t => if points t <=? p then t else top_point t p end.
  Fixpoint top_place (n : nat) (v : Z) : nat :=
    match n with O => O | S t => if power q t <=? v then t else top_place t v end.

  (** The vector of a point, its highest digit 1; a vector times a factor; and the point of a vector. *)
  Definition vector (p : Z) : Z := p - points (top_point d p) + power q (top_point d p).
  Definition scaled (n : nat) (c v : Z) : Z := sum n (fun i => (digit q i v * c) mod q * power q i).
  Definition point_number (v : Z) : Z :=
    let t := top_place d v in scaled d (inverse q (v / power q t)) v - power q t + points t.

  Definition dot (v w : Z) : Z := sum d (fun i => digit q i v * digit q i w).

  Lemma q_least : 2 <= q.
  Proof. now apply prime_ge_2. Qed.
  Hint Resolve q_least : core.

  Lemma points_S n : points (S n) = points n + power q n.
  Proof. reflexivity. Qed.

  Lemma points_mono m n : (m <= n)%nat -> points m <= points n.
  Proof. intro H. induction H as [|n H IH]; [lia|]. rewrite points_S. pose proof (power_pos q q_least n). lia. Qed.

  Lemma top_point_spec n p : 0 <= p < points n -> (top_point n p < n)%nat /\ points (top_point n p) <= p < points (S (top_point n p)).
  Proof.
    induction n as [|n IH]; intro H; [cbn in H; lia|]. cbn [top_point]. destruct (Z.leb_spec (points n) p) as [L|L]; [split; lia|].
    destruct IH as [A B]; [lia|]. split; [lia|assumption].
  Qed.

  Lemma top_place_spec n v : 0 < v < power q n -> (top_place n v < n)%nat /\ power q (top_place n v) <= v < power q (S (top_place n v)).
  Proof.
    induction n as [|n IH]; intro H; [rewrite power_0 in H; lia|]. cbn [top_place].
    destruct (Z.leb_spec (power q n) v) as [L|L]; [split; lia|]. destruct IH as [A B]; [lia|]. split; [lia|assumption].
  Qed.

  Lemma top_place_unique n t v : (t < n)%nat -> power q t <= v < power q (S t) -> top_place n v = t.
  Proof.
    intros Ht Hv. pose proof (power_pos q q_least t). destruct (top_place_spec n v) as [A B].
    { pose proof (power_mono q q_least (S t) n ltac:(lia)). lia. }
    destruct (lt_eq_lt_dec (top_place n v) t) as [[L|E]|L]; [|assumption|].
    - pose proof (power_mono q q_least (S (top_place n v)) t ltac:(lia)). lia.
    - pose proof (power_mono q q_least (S t) (top_place n v) ltac:(lia)). lia.
  Qed.

  (** Vectors whose highest digit is 1 are those of the points. *)
  Lemma vector_of n t v : (n <= d)%nat -> (t < n)%nat -> power q t <= v < 2 * power q t ->
    0 <= v - power q t + points t < points n /\ vector (v - power q t + points t) = v /\ top_point d (v - power q t + points t) = t.
  Proof.
    intros Hn Ht Hv. assert (P0 : 0 <= points t) by (change 0 with (points 0); apply points_mono; lia).
    pose proof (points_mono (S t) n ltac:(lia)) as M. rewrite points_S in M.
    assert (T : top_point d (v - power q t + points t) = t).
    { destruct (top_point_spec d (v - power q t + points t)) as [A B].
      { pose proof (points_mono n d Hn). lia. }
      rewrite points_S in B. set (s := top_point _ _) in *. destruct (lt_eq_lt_dec s t) as [[L|E]|L]; [|assumption|].
      - pose proof (points_mono (S s) t ltac:(lia)) as Q. rewrite points_S in Q. lia.
      - pose proof (points_mono (S t) s ltac:(lia)) as Q. rewrite points_S in Q. lia. }
    split; [lia|]. split; [|exact T]. unfold vector. rewrite T. lia.
  Qed.

  Lemma vector_spec p : 0 <= p < points d ->
    (top_point d p < d)%nat /\ power q (top_point d p) <= vector p < 2 * power q (top_point d p) /\
    p = vector p - power q (top_point d p) + points (top_point d p).
  Proof.
    intro H. destruct (top_point_spec d p H) as [A B]. rewrite points_S in B. unfold vector. split; [assumption|]. lia.
  Qed.

  Lemma digit_scaled n c v i : (i < n)%nat -> digit q i (scaled n c v) = (digit q i v * c) mod q.
  Proof. intro H. unfold scaled. rewrite digit_of_sum; auto. intros j _. apply Z.mod_pos_bound. pose proof q_least. lia. Qed.

  Lemma scaled_range n c v : 0 <= scaled n c v < power q n.
  Proof. apply sum_of_digits; auto. intros j _. apply Z.mod_pos_bound. pose proof q_least. lia. Qed.

  (** Known by its highest digits. *)
  Lemma below_top n t v : 0 <= v < power q n -> (t < n)%nat -> (forall i, (t < i < n)%nat -> digit q i v = 0) ->
    v < power q (S t) /\ v / power q t = digit q t v.
  Proof.
    intros Hv Ht H. pose proof (power_pos q q_least (S t)) as P. pose proof (power_pos q q_least t) as P'.
    assert (Z0 : v / power q (S t) = 0).
    { apply (digits_zero q q_least (n - S t)).
      - split; [apply Z.div_pos; lia|]. apply Z.div_lt_upper_bound; [lia|]. rewrite <- power_add by auto.
        now replace (S t + (n - S t))%nat with n by lia.
      - intros i Hi. rewrite digit_high by auto. apply H. lia. }
    assert (L : v < power q (S t)) by (apply Z.div_small_iff in Z0; [|lia]; lia). split; [assumption|].
    unfold digit. symmetry. apply Z.mod_small. rewrite power_S in L by auto. split; [apply Z.div_pos|apply Z.div_lt_upper_bound]; lia.
  Qed.

  Lemma above_top t v i : 0 <= v < power q (S t) -> (t < i)%nat -> digit q i v = 0.
  Proof.
    intros Hv Hi. unfold digit. rewrite Z.div_small; [reflexivity|]. pose proof (power_mono q q_least (S t) i ltac:(lia)). lia.
  Qed.

  Lemma lead_digit t v : power q t <= v < power q (S t) -> 0 < v / power q t < q /\ digit q t v = v / power q t.
  Proof.
    intro Hv. pose proof (power_pos q q_least t). rewrite power_S in Hv by auto.
    assert (L : 0 < v / power q t < q).
    { split; [apply Z.div_str_pos; lia|apply Z.div_lt_upper_bound; lia]. }
    split; [assumption|]. unfold digit. apply Z.mod_small. lia.
  Qed.

  (** A vector divided by its highest digit has 1 there. *)
  Lemma normalised n v : 0 < v < power q n ->
    let t := top_place n v in
    power q t <= scaled n (inverse q (v / power q t)) v < 2 * power q t.
  Proof.
    intros Hv t. destruct (top_place_spec n v Hv) as [Ht B]. fold t in Ht, B. destruct (lead_digit t v B) as [L Dl].
    set (c := inverse q (v / power q t)). destruct (inverse_spec q q_prime _ L) as [E _]. fold c in E.
    pose proof (scaled_range n c v) as R.
    destruct (below_top n t (scaled n c v) R Ht) as [U Q].
    { intros i Hi. rewrite digit_scaled, (above_top t) by lia. now rewrite Z.mul_0_l, Z.mod_0_l by (pose proof q_least; lia). }
    rewrite digit_scaled, Dl, E in Q by assumption. pose proof (power_pos q q_least t) as P.
    pose proof (Z.div_mod (scaled n c v) (power q t) ltac:(lia)) as D. pose proof (Z.mod_pos_bound (scaled n c v) (power q t) P). lia.
  Qed.

  (** The point of a vector's multiple is the point itself. *)
  Lemma point_scaled p c : 0 <= p < points d -> 0 < c < q -> point_number (scaled d c (vector p)) = p.
  Proof.
    intros Hp Hc. pose proof q_least as Q2. destruct (vector_spec p Hp) as (Ht & Hv & Ep).
    set (t := top_point d p) in *. set (a := vector p) in *.
    assert (Ha : power q t <= a < power q (S t)) by (rewrite power_S by auto; pose proof (power_pos q q_least t); nia).
    assert (Da : digit q t a = 1).
    { destruct (lead_digit t a Ha) as [_ ->]. symmetry. apply Z.div_unique with (a - power q t); lia. }
    assert (Ra : 0 <= a < power q d) by (pose proof (power_mono q q_least (S t) d ltac:(lia)); pose proof (power_pos q q_least t); lia).
    pose proof (scaled_range d c a) as R. set (a' := scaled d c a) in *.
    destruct (below_top d t a' R Ht) as [U Q].
    { intros i Hi. unfold a'. rewrite digit_scaled, (above_top t) by (try lia; pose proof (power_pos q q_least t); lia).
      now rewrite Z.mul_0_l, Z.mod_0_l by lia. }
    unfold a' in Q at 2. rewrite digit_scaled, Da, Z.mul_1_l, Z.mod_small in Q by lia.
    pose proof (power_pos q q_least t) as P. pose proof (Z.div_mod a' (power q t) ltac:(lia)) as D.
    pose proof (Z.mod_pos_bound a' (power q t) P) as M.
    assert (T : top_place d a' = t) by (apply top_place_unique; [assumption|]; nia).
    unfold point_number. rewrite T, Q. destruct (inverse_spec q q_prime c Hc) as [E _].
    assert (B : scaled d (inverse q c) a' = a).
    { apply (digits_apart q q_least d); [apply scaled_range|assumption|]. intros i Hi. unfold a'. rewrite !digit_scaled by assumption.
      rewrite Zmult_mod_idemp_l, <- Z.mul_assoc, <- Zmult_mod_idemp_r, E, Z.mul_1_r. apply Z.mod_small, digit_range. lia. }
    rewrite B. lia.
  Qed.

  Lemma sum_mod n f g : (forall i, (i < n)%nat -> f i mod q = g i mod q) -> sum n f mod q = sum n g mod q.
  Proof.
    induction n as [|n IH]; intro H; [reflexivity|]. cbn [sum]. rewrite Zplus_mod, IH, (H n), <- Zplus_mod; auto.
  Qed.

  Lemma dot_scaled c v w : dot (scaled d c v) w mod q = (c * dot v w) mod q.
  Proof.
    assert (S : forall n f, c * sum n f = sum n (fun i => c * f i)) by (induction n as [|n IH]; intro f; cbn [sum]; [ring|rewrite <- IH; ring]).
    unfold dot. rewrite S. apply sum_mod. intros i Hi. rewrite digit_scaled by assumption. rewrite Zmult_mod_idemp_l. f_equal. ring.
  Qed.

  (** ** The sets of one label *)
  Variable label : Z.
  Hypothesis is_label : 0 <= label < points d.

  Let pivot := top_point d label.
  Let truth := vector label.

  Definition plane_place (side : bool) (i : Z) : Z :=
    let free := if side then vector i else i in
    let low := free mod power q pivot in
    let spread := (free - low) * q + low in
    point_number (spread + ((if side then 0 else 1) - dot spread truth) mod q * power q pivot).

  Definition plane_has (b : Z) : bool := dot (vector b) truth mod q =? 0.

  (** The product without what the pivot adds. *)
  Let rest (v : Z) : Z :=
    sum (d - 1) (fun i => if (i <? pivot)%nat then digit q i v * digit q i truth else digit q (S i) v * digit q (S i) truth).

  Lemma pivot_below : (pivot < d)%nat.
  Proof. apply (vector_spec label is_label). Qed.

  Lemma dot_pivot v : dot v truth = rest v + digit q pivot v.
  Proof.
    unfold dot, rest. pose proof pivot_below. replace d with (S (d - 1)) at 1 by lia. rewrite (sum_without (d - 1) pivot) by lia. f_equal.
    destruct (vector_spec label is_label) as (_ & Hv & _). fold truth pivot in Hv. pose proof (power_pos q q_least pivot).
    assert (Hv' : power q pivot <= truth < power q (S pivot)) by (rewrite power_S by auto; pose proof q_least; nia).
    destruct (lead_digit pivot truth Hv') as [_ ->]. replace (truth / power q pivot) with 1 by (apply Z.div_unique with (truth - power q pivot); lia). ring.
  Qed.

  Lemma rest_ext v w : (forall i, (i < d)%nat -> i <> pivot -> digit q i v = digit q i w) -> rest v = rest w.
  Proof.
    intro H. apply sum_ext. intros i Hi. pose proof pivot_below. destruct (Nat.ltb_spec i pivot); rewrite H by lia; reflexivity.
  Qed.

  Lemma place_put side i : plane_place side i =
    let free := if side then vector i else i in
    point_number (put q pivot (((if side then 0 else 1) - rest (put q pivot 0 free)) mod q) free).
  Proof.
    unfold plane_place. cbv zeta. set (free := if side then vector i else i).
    assert (E : (free - free mod power q pivot) * q + free mod power q pivot = put q pivot 0 free) by (unfold put; ring).
    rewrite E, dot_pivot. rewrite (digit_put q q_least pivot 0 free pivot) by (pose proof q_least; lia).
    rewrite Nat.ltb_irrefl, Nat.eqb_refl, Z.add_0_r. f_equal. unfold put. ring.
  Qed.

  Lemma sets_outside : points d - points (d - 1) = power q (d - 1).
  Proof. pose proof pivot_below. replace d with (S (d - 1)) at 1 by lia. rewrite points_S. lia. Qed.

  Lemma plane_covers : every_block (points d) (points (d - 1)) plane_place.
  Proof.
    intros b Hb. pose proof q_least as Q2. pose proof pivot_below as Hp.
    destruct (vector_spec b Hb) as (Ht & Hv & _). set (a := vector b) in *.
    assert (Pa : 0 < a) by (pose proof (power_pos q q_least (top_point d b)); lia).
    assert (Ra : 0 <= a < power q (S (d - 1))).
    { replace (S (d - 1)) with d by lia. pose proof (power_mono q q_least (S (top_point d b)) d ltac:(lia)) as M.
      rewrite power_S in M by auto. nia. }
    pose proof (Z.mod_pos_bound (dot a truth) q ltac:(lia)) as Rc.
    destruct (Z.eq_dec (dot a truth mod q) 0) as [Hc|Hc].
    - (* a set that holds the label *)
      set (r := take q pivot a). assert (Rr : 0 <= r < power q (d - 1)) by (apply take_range; auto; lia).
      assert (Dr : forall i, (i < d)%nat -> i <> pivot -> digit q (if (i <? pivot)%nat then i else i - 1) r = digit q i a).
      { intros i Hi Ne. unfold r. rewrite digit_take by auto. destruct (Nat.ltb_spec i pivot) as [L|L].
        - destruct (Nat.ltb_spec i pivot); [reflexivity|lia].
        - destruct (Nat.ltb_spec (i - 1) pivot); [lia|]. f_equal. lia. }
      assert (Pr : 0 < r).
      { destruct (Z.eq_dec r 0) as [R0|]; [exfalso|lia].
        assert (Z0 : forall i, (i < d)%nat -> i <> pivot -> digit q i a = 0).
        { intros i Hi Ne. rewrite <- Dr by assumption. rewrite R0. unfold digit. rewrite Z.div_0_l, Z.mod_0_l; auto; [lia|].
          match goal with |- power q ?k <> 0 => pose proof (power_pos q q_least k) end. lia. }
        rewrite dot_pivot in Hc. rewrite (rest_ext a 0) in Hc.
        2:{ intros i Hi Ne. rewrite Z0 by assumption. unfold digit. rewrite Z.div_0_l, Z.mod_0_l; auto; [lia|].
            pose proof (power_pos q q_least i). lia. }
        assert (Rz : rest 0 = 0).
        { unfold rest. rewrite (sum_ext (d - 1) _ (fun _ => 0)); [apply sum_zero|].
          assert (Dz : forall k, digit q k 0 = 0).
          { intro k. unfold digit. rewrite Z.div_0_l, Z.mod_0_l; auto; [lia|]. pose proof (power_pos q q_least k). lia. }
          intros i _. rewrite !Dz. now destruct (i <? pivot)%nat. }
        rewrite Rz, Z.add_0_l, Z.mod_small in Hc by (apply digit_range; lia).
        assert (a = 0); [|lia]. apply (digits_zero q q_least (S (d - 1))); [assumption|]. intros i Hi.
        destruct (Nat.eq_dec i pivot) as [->|Ne]; [assumption|]. apply Z0; [lia|assumption]. }
      set (t := top_place (d - 1) r). destruct (top_place_spec (d - 1) r ltac:(lia)) as [Tt Tr]. fold t in Tt, Tr.
      destruct (lead_digit t r Tr) as [Ll _]. set (c := inverse q (r / power q t)).
      destruct (inverse_spec q q_prime _ Ll) as [_ Cc]. fold c in Cc.
      pose proof (normalised (d - 1) r ltac:(lia)) as Nr. cbv zeta in Nr. fold t c in Nr. set (v := scaled (d - 1) c r) in *.
      destruct (vector_of (d - 1) t v ltac:(lia) Tt Nr) as (Ri & Vi & _).
      exists true, (v - power q t + points t). split; [exact Ri|]. rewrite place_put. cbv zeta. rewrite Vi.
      transitivity (point_number (scaled d c a)); [f_equal|now apply point_scaled].
      assert (Digits : forall e i, 0 <= e < q -> (i < d)%nat -> i <> pivot -> digit q i (put q pivot e v) = (digit q i a * c) mod q).
      { intros e i He Hi Ne. rewrite digit_put by (auto; lia). rewrite <- Dr by assumption. destruct (Nat.ltb_spec i pivot) as [L|L].
        - unfold v. apply digit_scaled. lia.
        - destruct (Nat.eqb_spec i pivot) as [E|E]; [lia|]. unfold v. apply digit_scaled. lia. }
      assert (Same : rest (put q pivot 0 v) = rest (scaled d c a)).
      { apply rest_ext. intros i Hi Ne. rewrite Digits, digit_scaled by (auto; lia). reflexivity. }
      assert (Dot : dot (scaled d c a) truth mod q = 0) by (rewrite dot_scaled, <- Zmult_mod_idemp_r, Hc, Z.mul_0_r, Z.mod_0_l; lia).
      rewrite dot_pivot in Dot.
      assert (E : (0 - rest (put q pivot 0 v)) mod q = digit q pivot (scaled d c a)).
      { rewrite Same. set (x := rest (scaled d c a)) in *. set (y := digit q pivot (scaled d c a)) in *.
        replace (0 - x) with (y - (x + y)) by ring. rewrite <- Zminus_mod_idemp_r, Dot, Z.sub_0_r. apply Z.mod_small, digit_range. lia. }
      rewrite E. pose proof (digit_range q q_least pivot (scaled d c a)) as Rd.
      apply (digits_apart q q_least (S (d - 1))).
      + apply put_range; auto; try lia. pose proof (scaled_range (d - 1) c r). assumption.
      + replace (S (d - 1)) with d by lia. apply scaled_range.
      + intros i Hi. destruct (Nat.eq_dec i pivot) as [->|Ne].
        * rewrite digit_put by auto. now rewrite Nat.ltb_irrefl, Nat.eqb_refl.
        * rewrite Digits, digit_scaled by (auto; lia). reflexivity.
    - (* one that does not *)
      set (c := inverse q (dot a truth mod q)). destruct (inverse_spec q q_prime (dot a truth mod q) ltac:(lia)) as [Ec Cc]. fold c in Ec, Cc.
      set (a' := scaled d c a). assert (Ra' : 0 <= a' < power q (S (d - 1))) by (replace (S (d - 1)) with d by lia; apply scaled_range).
      assert (Dot : dot a' truth mod q = 1) by (unfold a'; rewrite dot_scaled, <- Zmult_mod_idemp_r, Z.mul_comm; exact Ec).
      exists false, (take q pivot a'). cbn [sets]. rewrite sets_outside. split; [apply take_range; auto; lia|].
      rewrite place_put. cbv zeta.
      assert (Same : rest (put q pivot 0 (take q pivot a')) = rest a').
      { apply rest_ext. intros i Hi Ne. rewrite digit_put by (auto; lia). destruct (Nat.ltb_spec i pivot) as [L|L].
        - rewrite digit_take by auto. destruct (Nat.ltb_spec i pivot); [reflexivity|lia].
        - destruct (Nat.eqb_spec i pivot); [lia|]. rewrite digit_take by auto. destruct (Nat.ltb_spec (i - 1) pivot); [lia|]. f_equal. lia. }
      rewrite dot_pivot in Dot.
      assert (E : (1 - rest (put q pivot 0 (take q pivot a'))) mod q = digit q pivot a').
      { rewrite Same. set (x := rest a') in *. set (y := digit q pivot a') in *.
        replace (1 - x) with (1 + y - (x + y)) by ring. rewrite <- Zminus_mod_idemp_r, Dot.
        replace (1 + y - 1) with y by ring. apply Z.mod_small, digit_range. lia. }
      rewrite E, put_taken by auto. now apply point_scaled.
  Qed.

  Lemma plane_holds side i : 0 <= i < sets (points d) (points (d - 1)) side -> plane_has (plane_place side i) = side.
  Proof.
    intro Hi. pose proof q_least as Q2. pose proof pivot_below as Hp. rewrite place_put. cbv zeta.
    set (free := if side then vector i else i).
    assert (Rf : 0 <= free < power q (d - 1) /\ (side = true -> 0 < free)).
    { unfold free. destruct side; cbn [sets] in Hi.
      - destruct (top_point_spec (d - 1) i Hi) as [A B]. destruct (vector_of (d - 1) (top_point (d - 1) i) (i - points (top_point (d - 1) i) + power q (top_point (d - 1) i)) ltac:(lia) A) as (_ & V & _).
        { rewrite points_S in B. lia. }
        replace (i - points (top_point (d - 1) i) + power q (top_point (d - 1) i) - power q (top_point (d - 1) i) + points (top_point (d - 1) i)) with i in V by ring.
        rewrite V. rewrite points_S in B. pose proof (power_pos q q_least (top_point (d - 1) i)).
        pose proof (power_mono q q_least (S (top_point (d - 1) i)) (d - 1) ltac:(lia)) as M. rewrite power_S in M by auto. split; [nia|lia].
      - rewrite sets_outside in Hi. split; [assumption|discriminate]. }
    destruct Rf as [Rf Pf]. set (e := ((if side then 0 else 1) - rest (put q pivot 0 free)) mod q).
    assert (Re : 0 <= e < q) by (apply Z.mod_pos_bound; lia). set (v := put q pivot e free).
    assert (Rv : 0 <= v < power q d).
    { replace d with (S (d - 1)) by lia. unfold v. apply put_range; auto. lia. }
    assert (Dot : dot v truth mod q = if side then 0 else 1).
    { rewrite dot_pivot. unfold v at 2. rewrite digit_put by auto. rewrite Nat.ltb_irrefl, Nat.eqb_refl.
      rewrite (rest_ext v (put q pivot 0 free)).
      2:{ intros j Hj Ne. unfold v. rewrite !digit_put by (auto; lia). destruct (j <? pivot)%nat; [reflexivity|].
          destruct (Nat.eqb_spec j pivot); [lia|reflexivity]. }
      unfold e. set (x := rest (put q pivot 0 free)). rewrite Zplus_mod_idemp_r. replace (x + ((if side then 0 else 1) - x)) with (if side then 0 else 1) by ring.
      destruct side; [apply Z.mod_0_l; lia|apply Z.mod_1_l; lia]. }
    assert (Pv : 0 < v).
    { destruct (Z.eq_dec v 0) as [V0|]; [exfalso|lia].
      assert (Dz : forall k, digit q k 0 = 0).
      { intro k. unfold digit. rewrite Z.div_0_l, Z.mod_0_l; auto; [lia|]. pose proof (power_pos q q_least k). lia. }
      destruct side.
      - assert (free = 0); [|specialize (Pf eq_refl); lia]. apply (digits_zero q q_least (d - 1)); [assumption|]. intros j Hj.
        assert (G : forall k, digit q k v = 0) by (intro k; rewrite V0; apply Dz).
        destruct (Nat.lt_ge_cases j pivot) as [L|L].
        + specialize (G j). unfold v in G. rewrite digit_put in G by auto. destruct (Nat.ltb_spec j pivot); [assumption|lia].
        + specialize (G (S j)). unfold v in G. rewrite digit_put in G by auto. destruct (Nat.ltb_spec (S j) pivot); [lia|].
          destruct (Nat.eqb_spec (S j) pivot); [lia|]. now replace (S j - 1)%nat with j in G by lia.
      - rewrite V0 in Dot. unfold dot in Dot. rewrite (sum_ext d _ (fun _ => 0)) in Dot by (intros k _; now rewrite Dz).
        rewrite sum_zero, Z.mod_0_l in Dot; lia. }
    unfold plane_has, point_number. set (t := top_place d v). destruct (top_place_spec d v ltac:(lia)) as [Tt Tv]. fold t in Tt, Tv.
    destruct (lead_digit t v Tv) as [Ll _]. set (c := inverse q (v / power q t)). destruct (inverse_spec q q_prime _ Ll) as [_ Cc]. fold c in Cc.
    pose proof (normalised d v ltac:(lia)) as Nv. cbv zeta in Nv. fold t c in Nv.
    destruct (vector_of d t (scaled d c v) ltac:(lia) Tt Nv) as (_ & V & _). rewrite V, dot_scaled, <- Zmult_mod_idemp_r, Dot.
    destruct side; [rewrite Z.mul_0_r, Z.mod_0_l by lia; reflexivity|]. rewrite Z.mul_1_r, Z.mod_small by lia. apply Z.eqb_neq. lia.
  Qed.
End Planes.

(** * A family as a passport names it *)
Inductive design := Subsets (size : Z) | Affine (modulus size : Z) | Planes (order dimension : Z).

Definition MOST_BLOCKS := 2 ^ 24.
Definition MOST_SUBSETS := 2 ^ 18.

Definition blocks_of (labels : Z) (d : design) : Z :=
  match d with
  | Subsets size => nth (Z.to_nat size) (binomials (Z.to_nat labels)) 0
  | Affine modulus _ => modulus * (modulus - 1)
  | Planes order dimension => points order (Z.to_nat dimension)
  end.

Definition holding_of (labels : Z) (d : design) : Z :=
  match d with
  | Subsets size => nth (Z.to_nat size - 1) (binomials (Z.to_nat labels - 1)) 0
  | Affine modulus size => size * (modulus - 1)
  | Planes order dimension => points order (Z.to_nat dimension - 1)
  end.

Definition design_ok (labels : Z) (d : design) : bool :=
  match d with
  | Subsets size => (0 <? size) && (size <? labels) && (labels <? 62) && (blocks_of labels d <=? MOST_SUBSETS)
  | Affine modulus size =>
      (2 <=? labels) && (labels <=? modulus) && (0 <? size) && (size <? modulus)
      && (blocks_of labels d <=? MOST_BLOCKS) && is_prime modulus
  | Planes order dimension =>
      (2 <=? order) && (2 <=? dimension) && (dimension <=? 62) && (2 <=? labels) && (labels <=? blocks_of labels d)
      && (blocks_of labels d <=? MOST_BLOCKS) && is_prime order
  end.

(** The set of an index under a label, and whether a set holds a label. *)
Definition place_of (labels : Z) (d : design) (label : nat) : bool -> Z -> Z :=
  match d with
  | Subsets size => subset_place (Z.to_nat labels) (Z.to_nat size) label
  | Affine modulus size => affine_place modulus size (Z.of_nat label)
  | Planes order dimension => plane_place order (Z.to_nat dimension) (Z.of_nat label)
  end.

Definition has (labels : Z) (d : design) (label : nat) : Z -> bool :=
  match d with
  | Subsets size => subset_has (Z.to_nat labels) (Z.to_nat size) label
  | Affine modulus size => affine_has modulus size (Z.of_nat label)
  | Planes order dimension => plane_has order (Z.to_nat dimension) (Z.of_nat label)
  end.

Section Accepted.
  Variables (labels : Z) (d : design).
  Hypothesis accepted : design_ok labels d = true.
  Variable label : nat.
  Hypothesis is_label : (label < Z.to_nat labels)%nat.

  Theorem design_covers : every_block (blocks_of labels d) (holding_of labels d) (place_of labels d label).
  Proof.
    pose proof accepted as H. destruct d as [size|modulus size|order dimension]; cbn [design_ok blocks_of holding_of place_of] in *;
      rewrite !andb_true_iff in H.
    - destruct H as [[[A B] _] _]. apply Z.ltb_lt in A, B. rewrite !binomials_bits. apply subset_covers; lia.
    - destruct H as [[[[_ A] B] _] _]. apply Z.ltb_lt in A, B. apply affine_covers. lia.
    - destruct H as [[[[_ _] L] _] P]. apply is_prime_sound in P. apply Z.leb_le in L. apply plane_covers; [assumption|lia].
  Qed.

  Lemma design_has side i : 0 <= i < sets (blocks_of labels d) (holding_of labels d) side ->
    has labels d label (place_of labels d label side i) = side.
  Proof.
    pose proof accepted as H. destruct d as [size|modulus size|order dimension]; cbn [design_ok blocks_of holding_of place_of has] in *;
      rewrite !andb_true_iff in H.
    - destruct H as [[[A B] _] _]. apply Z.ltb_lt in A, B. rewrite !binomials_bits. apply subset_holds; lia.
    - destruct H as [[[[_ A] B] _] _]. apply Z.ltb_lt in A, B. intros _. apply affine_holds. lia.
    - destruct H as [[[[_ _] L] _] P]. apply is_prime_sound in P. apply Z.leb_le in L. apply plane_holds; [assumption|lia].
  Qed.

  (** Of the sets, numbered from 0, exactly so many hold the label. *)
  Theorem design_holding : 0 <= holding_of labels d <= blocks_of labels d ->
    Z.of_nat (length (filter (has labels d label) (map Z.of_nat (seq 0 (Z.to_nat (blocks_of labels d)))))) = holding_of labels d.
  Proof. intro H. apply (holding_exact _ _ (place_of labels d label) H design_covers). apply design_has. Qed.
End Accepted.

(** The mechanism of a family. *)
Definition label_law (labels : Z) (d : design) (inside : Z) :=
  block_law (blocks_of labels d) (holding_of labels d) inside (place_of labels d).
