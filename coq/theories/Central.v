(** check_groups of trusted/certify.py over the multisets of trusted/multisets.py, and the proof that what it accepts is
    private for a group of a public size.

    The window of a group holds its records of the ranks lead + 1 .. lead + k in order, as a histogram over 0 .. w. A law
    has a column for each of the histograms, in lexicographic order. Histograms that have all records but one in common
    are neighbours of each other.

    window_moves          one record of the group changes, or comes or goes: the window keeps all records but one
    multiset_index        the column of a histogram, by the formula of Python
    consume_spec          the checker finds, for all records but one, the extremes of a row over the last record
    central_promise       for every accepted law, neighbouring groups and every set of reports
    answer_promise        a window of one record may be any value at all, in any two groups
    central_distribution  every group's masses sum to one *)
From Coq Require Import ZArith Reals List Bool Lra Lia Arith.
From Inbounds Require Import Exp Privacy Matrix Noise Kinds Lengths.
Import ListNotations.
Open Scope nat_scope.

(** * Histograms and their order *)
Definition histogram (k w : nat) (h : list nat) : Prop := length h = S w /\ list_sum h = k.

(** One record more at value t. *)
Fixpoint add_at (t : nat) (h : list nat) : list nat :=
  match h, t with
  | [], _ => []
  | n :: h', O => S n :: h'
  | n :: h', S t' => n :: add_at t' h'
  end.

(** How many histograms of a records over b + 1 values there are: a + b over b. *)
Fixpoint multisets (a b : nat) {struct b} : nat :=
  match b with
  | O => 1
  | S b' => (fix go (a : nat) : nat := match a with O => 1 | S a' => go a' + multisets (S a') b' end) a
  end.

(** Those before a histogram agree with it before some value and have fewer records there. *)
Fixpoint multiset_index (left : nat) (h : list nat) : nat :=
  match h with
  | [] => 0
  | n :: rest => multisets left (length rest) - multisets (left - n) (length rest) + multiset_index (left - n) rest
  end.

Lemma multisets_step a b : multisets (S a) (S b) = multisets a (S b) + multisets (S a) b.
Proof. reflexivity. Qed.

Lemma multisets_none b : multisets 0 b = 1.
Proof. destruct b; reflexivity. Qed.

Lemma multisets_mono a a' b : a <= a' -> multisets a b <= multisets a' b.
Proof. intro H. induction H as [|a' H IH]; [lia|]. destruct b as [|b]; [cbn; lia|]. rewrite multisets_step. lia. Qed.

Lemma multisets_pos a b : 1 <= multisets a b.
Proof. rewrite <- (multisets_none b). apply multisets_mono. lia. Qed.

Lemma index_shift k n rest : rest <> [] ->
  multiset_index (S k) (S n :: rest) = multisets (S k) (length rest - 1) + multiset_index k (n :: rest).
Proof.
  intro H. destruct rest as [|r rest]; [easy|]. cbn [multiset_index length].
  replace (S (length rest) - 1) with (length rest) by lia. replace (S k - S n) with (k - n) by lia.
  rewrite multisets_step. pose proof (multisets_mono (k - n) k (S (length rest)) ltac:(lia)). lia.
Qed.

Lemma index_zero k rest : multiset_index k (0 :: rest) = multiset_index k rest.
Proof. cbn [multiset_index]. rewrite Nat.sub_0_r, Nat.sub_diag. reflexivity. Qed.

Lemma index_below w : forall k h, histogram k w h -> multiset_index k h < multisets k w.
Proof.
  induction w as [|w IH]; intros k h [L Sum].
  - destruct h as [|n [|m h]]; try (cbn in L; lia). cbn. lia.
  - destruct h as [|n rest]; [cbn in L; lia|]. cbn in L. change (n + list_sum rest = k) in Sum. injection L as L.
    assert (H : histogram (k - n) w rest) by (split; [assumption|lia]).
    specialize (IH _ _ H). cbn [multiset_index]. rewrite L.
    assert (M : multisets (k - n) w <= multisets (k - n) (S w)).
    { destruct (k - n) as [|a]; [now rewrite !multisets_none|]. rewrite multisets_step. lia. }
    pose proof (multisets_mono (k - n) k (S w) ltac:(lia)). lia.
Qed.

Lemma add_at_length t : forall h, length (add_at t h) = length h.
Proof. induction t as [|t IH]; intros [|n h]; cbn; auto. Qed.

Lemma add_at_sum t : forall h, t < length h -> list_sum (add_at t h) = S (list_sum h).
Proof.
  unfold list_sum. induction t as [|t IH]; intros [|n h] H; cbn [length add_at fold_right] in *; try lia. rewrite IH; lia.
Qed.

(** * The checker *)
Open Scope Z_scope.

(** The extremes of each entry together with the next number; numbers beyond the entries are left. *)
Fixpoint merge (extremes : list (Z * Z)) (numbers : list Z) : list (Z * Z) :=
  match extremes, numbers with
  | (high, low) :: extremes', x :: numbers' => (Z.max high x, Z.min low x) :: merge extremes' numbers'
  | _, _ => []
  end.

(** From a row over the histograms of k records on 0 .. w: for each histogram of k - 1 records, the extremes of the row
    over one record more; and what is left of the row. [None] where the row is too short. *)
Fixpoint consume (w k : nat) (row : list Z) {struct w} : option (list (Z * Z) * list Z) :=
  match w with
  | O => match row with [] => None | x :: rest => Some (match k with O => [] | S _ => [(x, x)] end, rest) end
  | S w' =>
      (fix go (k : nat) (row : list Z) {struct k} : option (list (Z * Z) * list Z) :=
         match k with
         | O => consume w' O row
         | S k' =>
             match consume w' k row with
             | None => None
             | Some (extremes, rest) =>
                 match go k' rest with
                 | None => None
                 | Some (extremes', rest') => Some (merge extremes rest ++ extremes', rest')
                 end
             end
         end) k row
  end.

Definition row_is_central (p : Z) (w k : nat) (row : list Z) : bool :=
  match consume w k row with
  | Some (extremes, []) => forallb (fun e => Z.shiftl (fst e) EXP_BITS <=? p * snd e) extremes
  | _ => false
  end.

Definition check_central (w k columns : nat) (W : list (list Z)) (en ed : Z) : bool :=
  check_product TOTAL columns W [] en ed && (1 <=? k)%nat
  && (let p := ratio_below en ed 1 1 in forallb (row_is_central p w k) W).

(** * What the checker finds *)
Open Scope nat_scope.

Lemma consume_S w k row : consume (S w) (S k) row =
  match consume w (S k) row with
  | None => None
  | Some (extremes, rest) =>
      match consume (S w) k rest with
      | None => None
      | Some (extremes', rest') => Some (merge extremes rest ++ extremes', rest')
      end
  end.
Proof. reflexivity. Qed.

Lemma merge_length extremes : forall numbers, length extremes <= length numbers -> length (merge extremes numbers) = length extremes.
Proof. induction extremes as [|[a b] e IH]; intros [|x l] H; cbn in *; try lia. rewrite IH; lia. Qed.

Lemma merge_nth extremes : forall numbers i, i < length extremes -> length extremes <= length numbers ->
  nth i (merge extremes numbers) (0, 0)%Z
  = (Z.max (fst (nth i extremes (0, 0)%Z)) (nth i numbers 0%Z), Z.min (snd (nth i extremes (0, 0)%Z)) (nth i numbers 0%Z)).
Proof.
  induction extremes as [|[a b] e IH]; intros [|x l] i Hi H; cbn [length] in *; try lia.
  destruct i as [|i]; cbn [merge nth fst snd]; [reflexivity|]. apply IH; lia.
Qed.

Definition between (e : Z * Z) (x : Z) : Prop := (snd e <= x <= fst e)%Z.

(** Lengths first. *)
Lemma consume_length w : forall k row extremes rest, consume w k row = Some (extremes, rest) ->
  length row = multisets k w + length rest /\ rest = skipn (multisets k w) row /\
  length extremes = match k with O => 0 | S k' => multisets k' w end.
Proof.
  induction w as [|w IH].
  - intros k [|x row] extremes rest H; cbn in H; [discriminate|]. injection H as <- <-. cbn. destruct k; cbn; auto.
  - induction k as [|k IHk]; intros row extremes rest H.
    + change (consume w 0 row = Some (extremes, rest)) in H. apply IH in H. rewrite !multisets_none in *. exact H.
    + rewrite consume_S in H. destruct (consume w (S k) row) as [[e1 r1]|] eqn:E1; [|discriminate].
      destruct (consume (S w) k r1) as [[e2 r2]|] eqn:E2; [|discriminate]. injection H as <- <-.
      destruct (IH _ _ _ _ E1) as (L1 & R1 & N1). destruct (IHk _ _ _ E2) as (L2 & R2 & N2).
      rewrite multisets_step. split; [lia|]. split.
      * rewrite R2, R1, skipn_skipn'. f_equal. lia.
      * assert (M : multisets k w <= multisets k (S w)).
        { destruct k as [|k]; [now rewrite !multisets_none|]. rewrite multisets_step. lia. }
        rewrite app_length, merge_length, N1, N2 by lia.
        destruct k as [|k]; [rewrite !multisets_none; lia|]. rewrite multisets_step. lia.
Qed.

Theorem consume_spec w : forall k row extremes rest, consume w (S k) row = Some (extremes, rest) ->
  forall common, histogram k w common -> forall t, t <= w ->
  between (nth (multiset_index k common) extremes (0, 0)%Z) (nth (multiset_index (S k) (add_at t common)) row 0%Z).
Proof.
  induction w as [|w IH].
  - intros k [|x row] extremes rest H common [L Sum] t Ht; cbn in H; [discriminate|]. injection H as <- <-.
    destruct common as [|n [|m common]]; try (cbn in L; lia). replace t with 0 by lia. cbn. unfold between. cbn. lia.
  - induction k as [k IHk] using (well_founded_induction lt_wf).
    intros row extremes rest H common [L Sum] t Ht. rewrite consume_S in H.
    destruct (consume w (S k) row) as [[e1 r1]|] eqn:E1; [|discriminate].
    destruct (consume (S w) k r1) as [[e2 r2]|] eqn:E2; [|discriminate]. injection H as <- <-.
    destruct (consume_length _ _ _ _ _ E1) as (L1 & R1 & N1). destruct (consume_length _ _ _ _ _ E2) as (L2 & R2 & N2).
    destruct common as [|n common]; [cbn in L; lia|]. cbn in L. change (n + list_sum common = k) in Sum. injection L as L.
    assert (Hne : common <> []) by (intros ->; cbn in L; lia).
    assert (Last : S (length common) - 1 = S w) by lia.
    assert (M : multisets k w <= multisets k (S w)).
    { destruct k as [|k]; [now rewrite !multisets_none|]. rewrite multisets_step. lia. }
    assert (Lm : length (merge e1 r1) = multisets k w) by (rewrite merge_length; lia).
    destruct n as [|n].
    + (* nobody of the common records is at the least value *)
      assert (Hj : histogram k w common) by (now split). pose proof (index_below _ _ _ Hj) as B.
      rewrite index_zero, app_nth1, merge_nth by lia. destruct t as [|t]; cbn [add_at].
      * rewrite index_shift by assumption. rewrite L, index_zero. replace (S w - 1) with w by lia.
        rewrite R1, nth_skipn'. unfold between. cbn [fst snd]. lia.
      * rewrite index_zero. pose proof (IH k row e1 r1 E1 common Hj t ltac:(lia)) as G.
        unfold between in *. cbn [fst snd]. lia.
    + (* one of them is: the same with one record less *)
      destruct k as [|k]; [lia|]. assert (Hc : histogram k (S w) (n :: common)) by (split; [cbn; lia|change (n + list_sum common = k); lia]).
      pose proof (IHk k ltac:(lia) r1 e2 r2 E2 (n :: common) Hc t Ht) as G.
      rewrite index_shift by assumption. rewrite L. replace (S w - 1) with w by lia.
      rewrite app_nth2, Lm by lia.
      replace (multisets (S k) w + multiset_index k (n :: common) - multisets (S k) w) with (multiset_index k (n :: common)) by lia.
      assert (Shift : multiset_index (S (S k)) (add_at t (S n :: common))
                      = multisets (S (S k)) w + multiset_index (S k) (add_at t (n :: common))).
      { destruct t as [|t]; cbn [add_at].
        - rewrite index_shift by assumption. rewrite L. repeat f_equal. lia.
        - assert (Hne' : add_at t common <> []).
          { intro E. apply (f_equal (@length nat)) in E. rewrite add_at_length, L in E. cbn in E. lia. }
          rewrite index_shift by assumption. rewrite add_at_length, L. repeat f_equal. lia. }
      rewrite Shift. rewrite R1, nth_skipn' in G. exact G.
Qed.

(** * The window of a group *)
Definition clip (lead k x : nat) : nat := Nat.max lead (Nat.min x (lead + k)).

(** central_window of Python: what the records up to each value add to those of the ranks lead + 1 .. lead + k. *)
Definition central_window (lead k w : nat) (db : list nat) : list nat :=
  map (fun t => clip lead k (upto db t) - clip lead k (below db t)) (seq 0 (S w)).

Lemma upto_mono db t t' : t <= t' -> upto db t <= upto db t'.
Proof.
  intro H. destruct (Nat.eq_dec t t') as [->|]; [lia|]. pose proof (below_le db t t' ltac:(lia)).
  destruct (counts_split db t'). lia.
Qed.

Lemma window_histogram lead k w db : (forall v, In v db -> v <= w) -> lead + k <= length db ->
  histogram k w (central_window lead k w db).
Proof.
  intros Hw Hn. unfold histogram, central_window. rewrite map_length, seq_length. split; [reflexivity|].
  assert (G : forall n, list_sum (map (fun t => clip lead k (upto db t) - clip lead k (below db t)) (seq 0 (S n)))
                        = clip lead k (upto db n) - lead).
  { assert (App : forall f n, list_sum (map f (seq 0 (S n))) = list_sum (map f (seq 0 n)) + f n).
    { intros f n. rewrite seq_S, map_app, list_sum_app. cbn. lia. }
    induction n as [|n IH]; rewrite App.
    - rewrite below_zero. cbn [seq map list_sum fold_right]. unfold clip. lia.
    - rewrite IH, below_upto. pose proof (upto_mono db n (S n) ltac:(lia)). unfold clip. lia. }
  rewrite G, (upto_all db w Hw). unfold clip. lia.
Qed.

(** One record between the ranks: all but one are in common. *)
Definition one_apart (w : nat) (h h' : list nat) : Prop :=
  h = h' \/ exists common s t, s <= w /\ t <= w /\ length common = S w /\ h = add_at s common /\ h' = add_at t common.

Lemma one_apart_sym w h h' : one_apart w h h' -> one_apart w h' h.
Proof. intros [->|(c & s & t & Hs & Ht & L & E & E')]; [now left|]. right. exists c, t, s. tauto. Qed.

Lemma add_at_map a f g : forall n s, s <= a < s + n -> (forall t, t <> a -> f t = g t) -> f a = S (g a) ->
  map f (seq s n) = add_at (a - s) (map g (seq s n)).
Proof.
  induction n as [|n IH]; intros s Hs Hf Ha; [lia|]. cbn [seq map]. destruct (Nat.eq_dec s a) as [->|Ne].
  - rewrite Nat.sub_diag. cbn [add_at]. f_equal; [assumption|]. apply map_ext_in. intros t Ht. apply in_seq in Ht. apply Hf. lia.
  - replace (a - s) with (S (a - S s)) by lia. cbn [add_at]. f_equal; [auto|]. apply IH; auto. lia.
Qed.

Lemma search_below (P : nat -> Prop) : (forall t, P t \/ ~ P t) -> forall w,
  (exists t, t <= w /\ P t) \/ forall t, t <= w -> ~ P t.
Proof.
  intros D w. induction w as [|w [(t & Ht & Pt)|N]].
  - destruct (D 0) as [P0|N0]; [left; exists 0; auto|right]. intros t Ht. now replace t with 0 by lia.
  - left. exists t. split; [lia|assumption].
  - destruct (D (S w)) as [Pw|Nw]; [left; exists (S w); auto|right]. intros t Ht.
    destruct (Nat.eq_dec t (S w)) as [->|]; [assumption|]. apply N. lia.
Qed.

Lemma least_such (P : nat -> Prop) : (forall t, P t \/ ~ P t) -> forall t, P t -> exists a, a <= t /\ P a /\ forall s, s < a -> ~ P s.
Proof.
  intros D t. induction t as [t IH] using (well_founded_induction lt_wf). intro H.
  assert (C : (exists s, s < t /\ P s) \/ forall s, s < t -> ~ P s).
  { destruct t as [|t]; [right; lia|]. destruct (search_below P D t) as [(s & Hs & Ps)|N].
    - left. exists s. split; [lia|assumption].
    - right. intros s Hs. apply N. lia. }
  destruct C as [(s & Hs & Ps)|N]; [|exists t; auto]. destruct (IH s Hs Ps) as (a & Ha & Pa & La). exists a. split; [lia|auto].
Qed.

(** The group has one record more up to each value of u .. v - 1 than its neighbour. *)
Lemma shifted_window lead k w db db' u v : (forall t, t <= w -> upto db t = upto db' t + (if (u <=? t) && (t <? v) then 1 else 0)) ->
  lead + k <= upto db' w -> one_apart w (central_window lead k w db) (central_window lead k w db').
Proof.
  intros H Hn.
  (* where the two differ between the ranks *)
  set (P := fun t => t <= w /\ u <= t < v /\ lead < upto db t <= lead + k).
  assert (D : forall t, P t \/ ~ P t) by (intro t; unfold P; lia).
  assert (Diff : forall t, t <= w -> (P t -> clip lead k (upto db t) = S (clip lead k (upto db' t))) /\
                                    (~ P t -> clip lead k (upto db t) = clip lead k (upto db' t))).
  { intros t Ht. specialize (H t Ht). unfold P, clip.
    destruct (Nat.leb_spec u t), (Nat.ltb_spec t v); cbn [andb] in H; split; intro; lia. }
  assert (NotLast : ~ P w).
  { intros (_ & Hv & Hl). specialize (H w ltac:(lia)). destruct (Nat.leb_spec u w), (Nat.ltb_spec w v); cbn [andb] in H; lia. }
  assert (Before : forall d t, t <= w -> clip lead k (below d t) = match t with O => clip lead k 0 | S s => clip lead k (upto d s) end).
  { intros d [|t] _; [now rewrite below_zero|now rewrite below_upto]. }
  destruct (search_below P D w) as [(t0 & Ht0 & Pt0)|None].
  - destruct (least_such P D t0 Pt0) as (a & Ha & Pa & La).
    assert (D' : forall t, (a < t /\ ~ P t) \/ ~ (a < t /\ ~ P t)) by (intro t; destruct (D t), (lt_dec a t); tauto).
    assert (Aw : a < w) by (destruct (Nat.eq_dec a w) as [->|]; [contradiction|destruct Pa; lia]).
    destruct (least_such _ D' w (conj Aw NotLast)) as (b & Hb & [Hab Pb] & Lb).
    assert (In' : forall t, t <= w -> (P t <-> a <= t < b)).
    { intros t Ht. split.
      - intro Pt. destruct (le_lt_dec a t) as [Hat|Hat]; [|exfalso; now apply (La t)].
        destruct (le_lt_dec b t) as [Hbt|Hbt]; [|lia]. exfalso. apply Pb. destruct Pa as (_ & A1 & A2). destruct Pt as (_ & T1 & T2).
        pose proof (upto_mono db a b ltac:(lia)). pose proof (upto_mono db b t ltac:(lia)). unfold P. lia.
      - intros [Hat Htb]. destruct (D t) as [|Nt]; [assumption|]. exfalso. destruct (Nat.eq_dec a t) as [->|]; [contradiction|].
        apply (Lb t Htb). split; [lia|assumption]. }
    right. set (f := fun t => clip lead k (upto db t) - clip lead k (below db t)).
    set (f' := fun t => clip lead k (upto db' t) - clip lead k (below db' t)).
    assert (Step : forall t, t <= w -> f t + (if t =? b then 1 else 0) = f' t + (if t =? a then 1 else 0) /\
                                      clip lead k (below db t) <= clip lead k (upto db t)).
    { intros t Ht. assert (Le : forall d, clip lead k (below d t) <= clip lead k (upto d t)).
      { intro d. destruct (counts_split d t). unfold clip. lia. }
      split; [|apply Le]. pose proof (Le db) as L1. pose proof (Le db') as L2. unfold f, f'.
      rewrite (Before db t Ht), (Before db' t Ht) in *.
      destruct (Diff t Ht) as [D1 D2]. destruct (In' t Ht) as [I1 I2].
      assert (Now : clip lead k (upto db t) = clip lead k (upto db' t) + (if (a <=? t) && (t <? b) then 1 else 0)).
      { destruct (Nat.leb_spec a t), (Nat.ltb_spec t b); cbn [andb]; [rewrite D1; [lia|apply I2; lia]| | |]; (rewrite D2; [lia|intro Q; apply I1 in Q; lia]). }
      assert (Then : match t with O => clip lead k 0 | S s => clip lead k (upto db s) end
                     = match t with O => clip lead k 0 | S s => clip lead k (upto db' s) end + (if (a <? t) && (t <=? b) then 1 else 0)).
      { destruct t as [|s]; [destruct (Nat.ltb_spec a 0); [lia|cbn [andb]; lia]|].
        destruct (Diff s ltac:(lia)) as [E1 E2]. destruct (In' s ltac:(lia)) as [J1 J2].
        destruct (Nat.ltb_spec a (S s)), (Nat.leb_spec (S s) b); cbn [andb]; [rewrite E1; [lia|apply J2; lia]| | |]; (rewrite E2; [lia|intro Q; apply J1 in Q; lia]). }
      rewrite Now, Then in *. clear Now Then D1 D2 I1 I2.
      destruct (Nat.leb_spec a t), (Nat.ltb_spec t b), (Nat.ltb_spec a t), (Nat.leb_spec t b), (Nat.eqb_spec t a), (Nat.eqb_spec t b);
        cbn [andb] in *; lia. }
    set (g := fun t => if t =? a then f t - 1 else f t).
    exists (map g (seq 0 (S w))), a, b. rewrite map_length, seq_length. split; [lia|]. split; [lia|]. split; [reflexivity|]. split.
    + transitivity (add_at (a - 0) (map g (seq 0 (S w)))); [|now rewrite Nat.sub_0_r]. apply add_at_map; [lia| |].
      * intros t Ht. unfold g. apply Nat.eqb_neq in Ht. now rewrite Ht.
      * unfold g. rewrite Nat.eqb_refl. destruct (Step a ltac:(lia)) as [E _]. rewrite Nat.eqb_refl in E.
        destruct (Nat.eqb_spec a b); [lia|]. fold (f a). lia.
    + transitivity (map (fun t => g t + (if t =? b then 1 else 0)) (seq 0 (S w))).
      * apply map_ext_in. intros t Ht. apply in_seq in Ht. destruct (Step t ltac:(lia)) as [E _]. unfold g. fold (f' t).
        destruct (Nat.eqb_spec t a), (Nat.eqb_spec t b); lia.
      * transitivity (add_at (b - 0) (map g (seq 0 (S w)))); [|now rewrite Nat.sub_0_r]. apply add_at_map; [lia| |].
        -- intros t Ht. apply Nat.eqb_neq in Ht. rewrite Ht. lia.
        -- rewrite Nat.eqb_refl. lia.
  - left. unfold central_window. apply map_ext_in. intros t Ht. apply in_seq in Ht.
    rewrite (Before db t ltac:(lia)), (Before db' t ltac:(lia)). destruct (Diff t ltac:(lia)) as [_ E]. rewrite E by (apply None; lia).
    destruct t as [|s]; [reflexivity|]. destruct (Diff s ltac:(lia)) as [_ E']. now rewrite E' by (apply None; lia).
Qed.

(** One record changed; or, of groups with records beyond their public size, one that comes or goes. *)
Theorem window_moves lead k w db db' : replaced db db' \/ added db db' ->
  (forall v, In v db -> v <= w) -> (forall v, In v db' -> v <= w) -> lead + k <= length db -> lead + k <= length db' ->
  one_apart w (central_window lead k w db) (central_window lead k w db').
Proof.
  intros Near Hw Hw' Hn Hn'. rewrite <- (upto_all db w Hw) in Hn. rewrite <- (upto_all db' w Hw') in Hn'.
  destruct Near as [R|[E|E]].
  - assert (C : exists u v, forall t, upto db t + (if v <=? t then 1 else 0) = upto db' t + (if u <=? t then 1 else 0)).
    { clear - R. induction R as [x y l|x l l' R (u & v & IH)].
      - exists x, y. intro t. unfold upto. cbn [count]. lia.
      - exists u, v. intro t. specialize (IH t). unfold upto in *. cbn [count]. lia. }
    destruct C as (u & v & C). destruct (le_lt_dec u v) as [L|L].
    + apply (shifted_window lead k w db db' u v); [|assumption]. intros t _. specialize (C t).
      destruct (Nat.leb_spec u t), (Nat.leb_spec v t), (Nat.ltb_spec t v); cbn [andb]; lia.
    + apply one_apart_sym, (shifted_window lead k w db' db v u); [|assumption]. intros t _. specialize (C t).
      destruct (Nat.leb_spec u t), (Nat.leb_spec v t), (Nat.ltb_spec t u); cbn [andb]; lia.
  - assert (C : exists v, forall t, upto db' t = upto db t + (if v <=? t then 1 else 0)).
    { clear - E. induction E as [v l|x l l' E (v & IH)]; exists v; intro t; [|specialize (IH t)]; unfold upto in *; cbn [count]; lia. }
    destruct C as (v & C). apply one_apart_sym, (shifted_window lead k w db' db v (S w)); [|assumption]. intros t Ht. specialize (C t).
    destruct (Nat.leb_spec v t), (Nat.ltb_spec t (S w)); cbn [andb]; lia.
  - assert (C : exists v, forall t, upto db t = upto db' t + (if v <=? t then 1 else 0)).
    { clear - E. induction E as [v l|x l l' E (v & IH)]; exists v; intro t; [|specialize (IH t)]; unfold upto in *; cbn [count]; lia. }
    destruct C as (v & C). apply (shifted_window lead k w db db' v (S w)); [|assumption]. intros t Ht. specialize (C t).
    destruct (Nat.leb_spec v t), (Nat.ltb_spec t (S w)); cbn [andb]; lia.
Qed.

(** * A window of one record: any two values are neighbours, the largest has the first column *)
Lemma index_none w : multiset_index 0 (repeat 0 w) = 0.
Proof. induction w as [|w IH]; [reflexivity|]. cbn [repeat]. now rewrite index_zero. Qed.

Lemma one_record w : multisets 1 w = S w.
Proof. induction w as [|w IH]; [reflexivity|]. rewrite multisets_step, multisets_none, IH. lia. Qed.

Lemma index_single w : forall t, t <= w -> multiset_index 1 (add_at t (repeat 0 (S w))) = w - t.
Proof.
  induction w as [|w IH]; intros t Ht; [now replace t with 0 by lia|].
  replace (repeat 0 (S (S w))) with (0 :: repeat 0 (S w)) by reflexivity. destruct t as [|t]; cbn [add_at].
  - rewrite index_shift by discriminate. rewrite repeat_length, index_zero, index_none, one_record by lia. lia.
  - rewrite index_zero, IH; lia.
Qed.

(** * What is promised *)
Open Scope R_scope.

(** The mechanism of a group: its window chooses the column. *)
Definition central_law (W : list (list Z)) (lead k w : nat) : mechanism (list nat) nat :=
  ask (fun db => multiset_index k (central_window lead k w db)) (law TOTAL W).

(** Groups of 0 .. w with all the ranks of the window, one record apart. *)
Definition central_near (lead k w : nat) (db db' : list nat) : Prop :=
  (replaced db db' \/ added db db') /\ (forall v, In v db -> v <= w)%nat /\ (forall v, In v db' -> v <= w)%nat /\
  (lead + k <= length db)%nat /\ (lead + k <= length db')%nat.

Section Accepted.
  Variables (w k columns : nat) (W : list (list Z)) (en ed : Z).
  Hypothesis accepted : check_central w k columns W en ed = true.

  Lemma central_facts : check_product TOTAL columns W [] en ed = true /\ (1 <= k)%nat /\
    forall row, In row W -> row_is_central (ratio_below en ed 1 1) w k row = true.
  Proof.
    pose proof accepted as H. unfold check_central in H. rewrite !andb_true_iff in H. destruct H as [[A B] C].
    apply Nat.leb_le in B. rewrite forallb_forall in C. auto.
  Qed.

  (** All records but one in common: the weights of a report keep the ratio. *)
  Lemma central_ratio common s t i : histogram (k - 1) w common -> (s <= w)%nat -> (t <= w)%nat -> (i < length W)%nat ->
    IZR (weight W i (multiset_index k (add_at s common))) <= exp (eps en ed) * IZR (weight W i (multiset_index k (add_at t common))).
  Proof.
    intros Hc Hs Ht Hi. destruct central_facts as (P & K & R). destruct k as [|j]; [lia|].
    replace (S j - 1)%nat with j in Hc by lia.
    destruct (check_product_sound _ _ _ _ _ _ P) as (_ & E & D & Pos & _).
    specialize (R (nth i W []) ltac:(now apply nth_In)). unfold row_is_central in R.
    destruct (consume w (S j) (nth i W [])) as [[extremes [|x rest]]|] eqn:C; try discriminate.
    rewrite forallb_forall in R.
    pose proof (consume_spec w j _ _ _ C common Hc s Hs) as Bs. pose proof (consume_spec w j _ _ _ C common Hc t Ht) as Bt.
    destruct (consume_length _ _ _ _ _ C) as (_ & _ & Ln).
    specialize (R (nth (multiset_index j common) extremes (0, 0)%Z)).
    specialize (R ltac:(apply nth_In; rewrite Ln; now apply index_below)).
    apply Z.leb_le in R. rewrite Z.shiftl_mul_pow2 in R by easy. unfold between in *.
    destruct (ratio_below_sound en ed 1 1 E D ltac:(lia) ltac:(lia)) as [Rp Q].
    replace (IZR en / IZR ed * (1 / 1)) with (eps en ed) in Q by (unfold eps, Rdiv; rewrite Rinv_1; ring).
    apply (ratio_kept (ratio_below en ed 1 1)); [apply Pos|exact Q|]. unfold weight.
    assert (T : (0 < 2 ^ EXP_BITS)%Z) by reflexivity. nia.
  Qed.

  Theorem central_promise lead : private (central_near lead k w) (eps en ed) (central_law W lead k w).
  Proof.
    apply pointwise_private. intros db db' (Near & Hw & Hw' & Hn & Hn') i Hi. cbn [central_law ask outs mass law] in *.
    apply in_seq in Hi. destruct central_facts as (P & K & _). pose proof (eps_nonneg _ _ _ _ _ _ P) as E0.
    pose proof (exp_le 0 _ E0) as E1. rewrite exp_0 in E1.
    destruct (check_product_sound _ _ _ _ _ _ P) as (_ & _ & _ & Pos & _).
    assert (T : 0 < IZR TOTAL) by (apply IZR_pos; reflexivity).
    unfold Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|].
    destruct (window_moves lead k w db db' Near Hw Hw' Hn Hn') as [->|(common & s & t & Hs & Ht & L & Es & Et)].
    - specialize (Pos i (multiset_index k (central_window lead k w db'))). apply IZR_le in Pos.
      apply Rle_trans with (1 * IZR (weight W i (multiset_index k (central_window lead k w db')))); [lra|].
      now apply Rmult_le_compat_r.
    - destruct (window_histogram lead k w db Hw Hn) as [_ Sum]. rewrite Es, Et in *.
      apply central_ratio; try assumption; [|lia]. split; [assumption|]. rewrite add_at_sum in Sum by lia. lia.
  Qed.

  (** A record that may be any other, whatever the groups have in common. *)
  Theorem answer_promise {D} (answer : D -> nat) : k = 1%nat -> (forall db, answer db <= w)%nat ->
    private (fun _ _ => True) (eps en ed) (ask (fun db => w - answer db)%nat (law TOTAL W)).
  Proof.
    intros K1 Ha. apply pointwise_private. intros db db' _ i Hi. cbn [ask outs mass law] in *. apply in_seq in Hi.
    assert (T : 0 < IZR TOTAL) by (apply IZR_pos; reflexivity).
    unfold Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|].
    rewrite <- !index_single by apply Ha.
    assert (Hc : histogram (k - 1) w (repeat 0%nat (S w))).
    { split; [apply repeat_length|]. rewrite K1. clear. induction (S w) as [|n IH]; [reflexivity|exact IH]. }
    pose proof (central_ratio _ (answer db) (answer db') i Hc (Ha db) (Ha db') ltac:(lia)) as G. rewrite K1 in G. exact G.
  Qed.

  Theorem central_distribution lead db : W <> [] -> (forall v, In v db -> v <= w)%nat -> (lead + k <= length db)%nat ->
    distribution (central_law W lead k w) db.
  Proof.
    intros Hne Hw Hn. destruct central_facts as (P & K & R). destruct W as [|row W'] eqn:EW; [easy|]. rewrite <- EW in *.
    assert (Hin : In row W) by (rewrite EW; now left). clear EW.
    apply (law_distribution _ _ _ _ _ _ P). eapply Nat.lt_le_trans; [apply index_below, window_histogram; assumption|].
    specialize (R row Hin). unfold row_is_central in R.
    destruct (consume w k row) as [[extremes [|x rest]]|] eqn:C; try discriminate.
    destruct (consume_length _ _ _ _ _ C) as (L & _). cbn [length] in L.
    unfold check_product in P. rewrite !andb_true_iff in P. destruct P as [[[[_ Rows] _] _] _].
    rewrite forallb_forall in Rows. specialize (Rows row Hin). apply andb_true_iff in Rows as [Lr _].
    apply Nat.eqb_eq in Lr. lia.
  Qed.
End Accepted.
