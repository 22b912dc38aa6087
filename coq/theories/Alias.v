(** The alias table of trusted/samplers.py: every output owns exactly its weight among the equally likely words.

    There are n bins of one capacity; a word is a bin and a place in it. The word chooses its own bin below the bin's
    threshold and the bin's alias above. The table is filled in steps: an open bin that holds less than the capacity is
    closed, topped up by an open bin that holds at least the capacity ([step]); which ones does not matter.

    alias_law    when no step is left, every output is chosen by exactly as many words as its weight says
    small_place  an output lighter than a bin is chosen exactly at the places below its weight in its own bin, so
                 that the place names a value of the tail of a noise table
    tail_value   each value of a tail has exactly [floor] of these places *)
From Coq Require Import ZArith List Bool Lia Arith.
Import ListNotations.
Open Scope Z_scope.

(** * Sums over 0 .. n - 1 *)
Fixpoint sum (n : nat) (f : nat -> Z) : Z := match n with O => 0 | S m => sum m f + f m end.

Lemma sum_ext n f g : (forall k, (k < n)%nat -> f k = g k) -> sum n f = sum n g.
Proof. induction n as [|n IH]; intro H; cbn; [reflexivity|]. rewrite IH, H; auto. Qed.

Lemma sum_add n f g : sum n (fun k => f k + g k) = sum n f + sum n g.
Proof. induction n as [|n IH]; cbn; [reflexivity|]. rewrite IH. lia. Qed.

Lemma sum_update n f a x : (a < n)%nat -> sum n (fun k => if (k =? a)%nat then x else f k) = sum n f - f a + x.
Proof.
  induction n as [|n IH]; intro H; [lia|]. cbn. destruct (Nat.eqb_spec n a) as [->|Hne].
  - assert (E : sum a (fun k => if (k =? a)%nat then x else f k) = sum a f).
    { apply sum_ext. intros k Hk. destruct (Nat.eqb_spec k a); [lia|reflexivity]. }
    lia.
  - rewrite IH by lia. lia.
Qed.

Lemma sum_zero n : sum n (fun _ => 0) = 0.
Proof. induction n as [|n IH]; cbn; lia. Qed.

Lemma sum_single n a x : (a < n)%nat -> sum n (fun k => if (k =? a)%nat then x else 0) = x.
Proof. intro H. rewrite (sum_update n (fun _ => 0)) by assumption. rewrite sum_zero. lia. Qed.

Lemma sum_bound n f c : (forall k, (k < n)%nat -> c <= f k) -> sum n f = Z.of_nat n * c ->
  forall k, (k < n)%nat -> f k = c.
Proof.
  induction n as [|n IH]; intros H E k Hk; [lia|]. cbn [sum] in E.
  assert (L : Z.of_nat n * c <= sum n f).
  { clear - H. induction n as [|n IH]; cbn [sum]; [lia|]. rewrite Nat2Z.inj_succ.
    specialize (IH ltac:(intros; apply H; lia)). pose proof (H n ltac:(lia)). lia. }
  pose proof (H n ltac:(lia)). destruct (Nat.eq_dec k n) as [->|]; [lia|].
  apply IH; auto; lia.
Qed.

Lemma sum_opp n f : sum n (fun k => - f k) = - sum n f.
Proof. induction n as [|n IH]; cbn; lia. Qed.

Lemma sum_bound_above n f c : (forall k, (k < n)%nat -> f k <= c) -> sum n f = Z.of_nat n * c ->
  forall k, (k < n)%nat -> f k = c.
Proof.
  intros H E k Hk. enough (- f k = - c) by lia.
  apply (sum_bound n (fun k => - f k)); auto.
  - intros i Hi. specialize (H i Hi). lia.
  - rewrite sum_opp. lia.
Qed.

(** * Filling *)
Section Table.
  Variables (n : nat) (capacity : Z) (weight : nat -> Z).
  Hypothesis weights_not_negative : forall k, (k < n)%nat -> 0 <= weight k.
  Hypothesis weights_fill : sum n weight = Z.of_nat n * capacity.

  Record table := Table { rest : nat -> Z; alias : nat -> nat; closed : nat -> bool }.

  Definition empty : table := Table weight (fun k => k) (fun _ => false).

  Definition topped_up (t g : nat) (s : table) : table :=
    Table (fun k => if (k =? g)%nat then rest s g - (capacity - rest s t) else rest s k)
          (fun k => if (k =? t)%nat then g else alias s k)
          (fun k => if (k =? t)%nat then true else closed s k).

  (** Bin t is closed, topped up by bin g. *)
  Inductive step : table -> table -> Prop :=
  | step_from s t g : (t < n)%nat -> (g < n)%nat -> t <> g -> closed s t = false -> closed s g = false ->
      rest s t < capacity -> capacity <= rest s g -> step s (topped_up t g s).

  Inductive filled : table -> Prop :=
  | filled_empty : filled empty
  | filled_step s s' : filled s -> step s s' -> filled s'.

  Definition finished (s : table) : Prop :=
    (forall k, (k < n)%nat -> closed s k = false -> capacity <= rest s k) \/
    (forall k, (k < n)%nat -> closed s k = false -> rest s k < capacity).

  (** What an output owns: its own bin up to the threshold, and what closed bins got from it. *)
  Definition given (s : table) (o k : nat) : Z :=
    if closed s k && (alias s k =? o)%nat then capacity - rest s k else 0.
  Definition owned (s : table) (o : nat) : Z := rest s o + sum n (given s o).
  Definition held (s : table) (k : nat) : Z := if closed s k then capacity else rest s k.

  Lemma filled_invariant s : filled s ->
    (forall o, (o < n)%nat -> owned s o = weight o) /\ sum n (held s) = Z.of_nat n * capacity /\
    (forall k, (k < n)%nat -> 0 <= rest s k) /\
    (forall k, (k < n)%nat -> closed s k = true -> rest s k < capacity /\ alias s k <> k) /\
    (forall k, closed s k = false -> alias s k = k) /\
    (forall k, (k < n)%nat -> rest s k <= weight k) /\
    (forall k, (k < n)%nat -> weight k < capacity ->
       rest s k = weight k /\ forall b, (b < n)%nat -> b <> k -> alias s b <> k).
  Proof.
    induction 1 as [|s s' Hf IH Hstep].
    - repeat split; cbn; auto; try lia; try discriminate.
      intros o Ho. unfold owned, given. cbn [empty closed rest andb]. rewrite sum_zero. lia.
    - destruct Hstep as [s t g Ht Hg Htg Ct Cg Rt Rg].
      destruct IH as (Own & Held & Pos & Clo & Opn & Le & Small).
      assert (Gne : (g =? t)%nat = false) by (apply Nat.eqb_neq; auto).
      assert (Tne : (t =? g)%nat = false) by (apply Nat.eqb_neq; auto).
      split; [|split; [|split; [|split; [|split; [|split]]]]].
      + intros o Ho. specialize (Own o Ho). unfold owned in *. cbn [topped_up rest].
        assert (E : sum n (given (topped_up t g s) o) =
                    sum n (given s o) + (if (g =? o)%nat then capacity - rest s t else 0)).
        { rewrite (sum_ext n _ (fun k => if (k =? t)%nat then (if (g =? o)%nat then capacity - rest s t else 0) else given s o k)).
          - rewrite sum_update by assumption. unfold given at 2. rewrite Ct. cbn [andb]. lia.
          - intros k Hk. unfold given. cbn [topped_up closed alias rest].
            destruct (Nat.eqb_spec k t) as [->|Hkt]; cbn [andb].
            + rewrite Tne. reflexivity.
            + destruct (Nat.eqb_spec k g) as [->|]; [rewrite Cg; reflexivity|reflexivity]. }
        rewrite E. destruct (Nat.eqb_spec o g) as [->|Hog].
        * rewrite Nat.eqb_refl. lia.
        * destruct (Nat.eqb_spec g o); [congruence|]. lia.
      + rewrite (sum_ext n _ (fun k => if (k =? t)%nat then capacity
                   else (fun k => if (k =? g)%nat then rest s g - (capacity - rest s t) else held s k) k)).
        * rewrite sum_update, sum_update by assumption. rewrite Tne. unfold held at 2 3. rewrite Ct, Cg. lia.
        * intros k Hk. unfold held. cbn [topped_up closed rest].
          destruct (Nat.eqb_spec k t) as [->|Hkt]; [reflexivity|].
          destruct (Nat.eqb_spec k g) as [->|]; [rewrite Cg; reflexivity|reflexivity].
      + intros k Hk. cbn [topped_up rest]. pose proof (Pos t Ht). destruct (Nat.eqb_spec k g); [lia|auto].
      + intros k Hk H. cbn [topped_up rest alias closed] in *. destruct (Nat.eqb_spec k t) as [->|Hkt].
        * rewrite Tne. auto.
        * destruct (Nat.eqb_spec k g) as [->|]; [congruence|]. now apply Clo.
      + intros k Hk. cbn [topped_up alias closed] in *. destruct (Nat.eqb_spec k t); [discriminate|auto].
      + intros k Hk. cbn [topped_up rest]. pose proof (Le g Hg). destruct (Nat.eqb_spec k g) as [->|]; [lia|auto].
      + intros k Hk Hw. cbn [topped_up rest alias]. pose proof (Le g Hg). destruct (Small k Hk Hw) as [Rk Ak]. split.
        * destruct (Nat.eqb_spec k g) as [->|]; [lia|assumption].
        * intros b Hb Hbk. destruct (Nat.eqb_spec b t) as [->|]; [|now apply Ak]. intros ->. lia.
  Qed.

  Section Finished.
    Variable s : table.
    Hypothesis is_filled : filled s.
    Hypothesis is_finished : finished s.

    Lemma open_full k : (k < n)%nat -> closed s k = false -> rest s k = capacity.
    Proof.
      destruct (filled_invariant s is_filled) as (_ & Held & _).
      intros Hk Hc. enough (held s k = capacity) by (unfold held in H; now rewrite Hc in H).
      destruct is_finished as [F|F].
      - apply (sum_bound n); auto. intros i Hi. unfold held. destruct (closed s i) eqn:E; [lia|now apply F].
      - apply (sum_bound_above n); auto. intros i Hi. unfold held. destruct (closed s i) eqn:E; [lia|].
        specialize (F i Hi E). lia.
    Qed.

    Lemma threshold_within k : (k < n)%nat -> 0 <= rest s k <= capacity.
    Proof.
      intros Hk. destruct (filled_invariant s is_filled) as (_ & _ & Pos & Clo & _). split; [auto|].
      destruct (closed s k) eqn:E; [destruct (Clo k Hk E); lia|]. rewrite open_full by assumption. lia.
    Qed.

    (** * Words *)
    Definition chosen (bin place : nat) : nat := if Z.of_nat place <? rest s bin then bin else alias s bin.

    Definition places_for (o bin : nat) : Z :=
      Z.of_nat (length (filter (fun q => (chosen bin q =? o)%nat) (seq 0 (Z.to_nat capacity)))).

    Lemma filter_all {A} (f : A -> bool) (b : bool) l : (forall x, In x l -> f x = b) ->
      length (filter f l) = if b then length l else O.
    Proof.
      induction l as [|x l IH]; intro H; cbn; [now destruct b|]. rewrite (H x) by now left.
      destruct b; cbn; rewrite IH; auto; intros; apply H; now right.
    Qed.

    Lemma places_spec o bin : (bin < n)%nat -> places_for o bin =
      (if (bin =? o)%nat then rest s bin else 0) + (if (alias s bin =? o)%nat then capacity - rest s bin else 0).
    Proof.
      intros Hb. pose proof (threshold_within bin Hb) as T. unfold places_for.
      replace (Z.to_nat capacity) with (Z.to_nat (rest s bin) + Z.to_nat (capacity - rest s bin))%nat by lia.
      rewrite seq_app, filter_app, app_length.
      rewrite (filter_all _ (bin =? o)%nat), (filter_all _ (alias s bin =? o)%nat), !seq_length.
      - destruct (bin =? o)%nat, (alias s bin =? o)%nat; lia.
      - intros q Hq. apply in_seq in Hq. unfold chosen. destruct (Z.ltb_spec (Z.of_nat q) (rest s bin)); [lia|reflexivity].
      - intros q Hq. apply in_seq in Hq. unfold chosen. destruct (Z.ltb_spec (Z.of_nat q) (rest s bin)); [reflexivity|lia].
    Qed.

    (** Of the n * capacity words, exactly weight(o) choose output o. *)
    Theorem alias_law o : (o < n)%nat -> sum n (places_for o) = weight o.
    Proof.
      intros Ho. destruct (filled_invariant s is_filled) as (Own & _ & _ & _ & Opn & _).
      rewrite <- Own by assumption. unfold owned.
      rewrite (sum_ext n _ (fun k => (if (k =? o)%nat then rest s o else 0) + given s o k)).
      - rewrite sum_add, sum_single by assumption. reflexivity.
      - intros k Hk. rewrite places_spec by assumption. unfold given.
        destruct (closed s k) eqn:E; cbn [andb].
        + destruct (Nat.eqb_spec k o) as [->|]; reflexivity.
        + rewrite (Opn k E), (open_full k Hk E). destruct (Nat.eqb_spec k o) as [->|]; [|lia].
          rewrite (open_full o Ho E). lia.
    Qed.

    (** Output k is lighter than a bin: it is chosen in its own bin below its weight, and nowhere else. *)
    Theorem small_place k bin place : (k < n)%nat -> (bin < n)%nat -> weight k < capacity ->
      Z.of_nat place < capacity -> (chosen bin place = k <-> bin = k /\ Z.of_nat place < weight k).
    Proof.
      intros Hk Hb Hw Hp. destruct (filled_invariant s is_filled) as (_ & _ & _ & Clo & Opn & _ & Small).
      destruct (Small k Hk Hw) as [Rk Ak]. unfold chosen. split.
      - destruct (Nat.eq_dec bin k) as [->|Hne].
        + intros H. split; [reflexivity|]. destruct (Z.ltb_spec (Z.of_nat place) (rest s k)); [lia|].
          destruct (closed s k) eqn:E; [destruct (Clo k Hk E); congruence|].
          rewrite (open_full k Hk E) in *. lia.
        + intros H. exfalso. destruct (Z.ltb (Z.of_nat place) (rest s bin)); [congruence|]. now apply (Ak bin).
      - intros [-> H]. rewrite Rk. destruct (Z.ltb_spec (Z.of_nat place) (weight k)); [reflexivity|lia].
    Qed.
  End Finished.
End Table.

(** The tail's weight is run * floor; the place divided by floor names one of its [run] values, each [floor] times. *)
Theorem tail_value run floor value place : 0 < floor -> 0 <= value < run ->
  (0 <= place < run * floor /\ place / floor = value) <-> value * floor <= place < value * floor + floor.
Proof.
  intros Hf Hv. split.
  - intros [Hp <-]. pose proof (Z.mul_div_le place floor Hf). pose proof (Z.mul_succ_div_gt place floor Hf). lia.
  - intros H. split; [nia|]. symmetry. apply Z.div_unique with (place - value * floor); lia.
Qed.
