(** check_counts of trusted/noisy_counts.py, and the proof that what it accepts is private: noisy counts of all values of a
    group, from which any number of quantiles is read.

    table is the noise around a circle of as many numbers: a count c is reported as r with the weight of r - c. One record
    more or less moves one count by 1; a changed record is one less and one more.

    cells_moved       one count moves by a step: every vector of counts is at most p / 2^128 times as likely
    counts_added      a record comes or goes: so many records cost as many steps
    counts_promise    for all accepted tables: groups that differ in one person's records, all sets of vectors *)
From Coq Require Import ZArith Reals List Bool Lra Lia Psatz Arith.
From Inbounds Require Import Exp Privacy Matrix Kinds Lengths Joint Sizes.
Import ListNotations.
Open Scope Z_scope.

Definition MOST_TABLE := 2 ^ 13.

Definition beside (p a b : Z) : bool := (a * 2 ^ EXP_BITS <=? p * b) && (b * 2 ^ EXP_BITS <=? p * a).

Fixpoint all_beside (p : Z) (first : Z) (l : list Z) : bool :=
  match l with
  | [] => true
  | [a] => beside p a first
  | a :: (b :: _) as l' => beside p a b && all_beside p first l'
  end.

Definition check_counts (table : list Z) (moves en ed : Z) : bool :=
  (2 <=? Z.of_nat (length table)) && (Z.of_nat (length table) <=? MOST_TABLE) && forallb (fun a => 0 <? a) table
  && (Zsum table =? TOTAL) && (0 <=? en) && (0 <? ed) && (1 <=? moves)
  && all_beside (ratio_below en ed 1 moves) (nth 0 table 0) table.

(** * Counts *)
Definition counts (values : nat) (db : list nat) : list Z := map (fun t => Z.of_nat (here db t)) (seq 0 values).

(** At most one number is another one, a step away. *)
Inductive one_step : list Z -> list Z -> Prop :=
| step_none l : one_step l l
| step_here a b l : Z.abs (a - b) <= 1 -> one_step (a :: l) (b :: l)
| step_there a l l' : one_step l l' -> one_step (a :: l) (a :: l').

Lemma one_step_back l l' : one_step l l' -> one_step l' l.
Proof. induction 1; [apply step_none|apply step_here; lia|now apply step_there]. Qed.

Lemma here_extended (db db' : list nat) : extended db db' ->
  exists v, forall t, here db' t = (here db t + (if v =? t then 1 else 0))%nat.
Proof.
  unfold here. induction 1 as [v l|u l l' H (v & A)].
  - exists v. intro t. cbn [count]. lia.
  - exists v. intro t. specialize (A t). cbn [count]. lia.
Qed.

Lemma counts_step values db db' : extended db db' -> one_step (counts values db) (counts values db').
Proof.
  intro H. destruct (here_extended _ _ H) as (v & A). unfold counts. generalize 0%nat as from.
  induction values as [|k IH]; intro from; cbn [seq map]; [apply step_none|].
  destruct (Nat.eqb_spec v from) as [E|E].
  - assert (Same : map (fun t => Z.of_nat (here db t)) (seq (S from) k) = map (fun t => Z.of_nat (here db' t)) (seq (S from) k)).
    { apply map_ext_in. intros t Ht. apply in_seq in Ht. rewrite A. destruct (Nat.eqb_spec v t); lia. }
    rewrite Same. apply step_here. rewrite A, E, Nat.eqb_refl. lia.
  - rewrite (A from). destruct (Nat.eqb_spec v from); [lia|]. rewrite Nat.add_0_r. apply step_there, IH.
Qed.

(** * Noise around a circle *)
Section Circle.
  Variables (table : list Z) (p : Z).
  Hypothesis long : (2 <= length table)%nat.
  Hypothesis positive : forall a, In a table -> 0 < a.
  Hypothesis next : all_beside p (nth 0 table 0) table = true.

  Definition around (d : Z) : Z := nth (Z.to_nat (d mod Z.of_nat (length table))) table 0.

  Lemma beside_spec a b : beside p a b = true -> a * 2 ^ EXP_BITS <= p * b /\ b * 2 ^ EXP_BITS <= p * a.
  Proof. unfold beside. rewrite andb_true_iff, !Z.leb_le. tauto. Qed.

  Lemma next_inside l first i : all_beside p first l = true -> (S i < length l)%nat -> beside p (nth i l 0) (nth (S i) l 0) = true.
  Proof.
    revert i. induction l as [|a l IH]; intros i H Hi; [cbn in Hi; lia|]. destruct l as [|b l]; [cbn in Hi; lia|].
    cbn [all_beside] in H. apply andb_true_iff in H as [A B]. destruct i as [|i]; [exact A|].
    change (nth (S i) (a :: b :: l) 0) with (nth i (b :: l) 0). change (nth (S (S i)) (a :: b :: l) 0) with (nth (S i) (b :: l) 0).
    apply IH; [exact B|cbn in *; lia].
  Qed.

  Lemma next_last l first : all_beside p first l = true -> l <> [] -> beside p (nth (length l - 1) l 0) first = true.
  Proof.
    induction l as [|a l IH]; intros H N; [congruence|]. destruct l as [|b l]; [exact H|].
    cbn [all_beside] in H. apply andb_true_iff in H as [_ B]. specialize (IH B ltac:(discriminate)).
    replace (length (a :: b :: l) - 1)%nat with (S (length (b :: l) - 1)) by (cbn; lia). exact IH.
  Qed.

  Lemma around_positive d : 0 < around d.
  Proof.
    unfold around. apply positive, nth_In.
    pose proof (Z.mod_pos_bound d (Z.of_nat (length table)) ltac:(lia)). lia.
  Qed.

  Lemma around_next d : beside p (around d) (around (d + 1)) = true.
  Proof.
    unfold around. set (M := Z.of_nat (length table)). assert (HM : 0 < M) by (unfold M; lia).
    pose proof (Z.mod_pos_bound d M HM) as B. destruct (Z.eq_dec (d mod M) (M - 1)) as [E|E].
    - assert (F : (d + 1) mod M = 0).
      { rewrite <- Zplus_mod_idemp_l, E. replace (M - 1 + 1) with (1 * M) by ring. apply Z_mod_mult. }
      rewrite E, F. change (Z.to_nat 0) with 0%nat.
      replace (Z.to_nat (M - 1)) with (length table - 1)%nat by (unfold M; lia).
      apply next_last; [exact next|]. destruct table; [cbn in long; lia|discriminate].
    - assert (F : (d + 1) mod M = d mod M + 1).
      { rewrite <- Zplus_mod_idemp_l. apply Z.mod_small. lia. }
      rewrite F. replace (Z.to_nat (d mod M + 1)) with (S (Z.to_nat (d mod M))) by lia.
      apply next_inside with (first := nth 0 table 0); [exact next|unfold M in *; lia].
  Qed.

  Lemma step_weight c c' r : Z.abs (c - c') = 1 -> around (r - c) * 2 ^ EXP_BITS <= p * around (r - c').
  Proof.
    intro H. destruct (Z.eq_dec c (c' + 1)) as [->|N'].
    - pose proof (around_next (r - (c' + 1))) as B. replace (r - (c' + 1) + 1) with (r - c') in B by ring.
      apply beside_spec in B. tauto.
    - assert (c' = c + 1) as -> by lia. pose proof (around_next (r - (c + 1))) as B.
      replace (r - (c + 1) + 1) with (r - c) in B by ring. apply beside_spec in B. tauto.
  Qed.
End Circle.

(** * Probabilities *)
Open Scope R_scope.

Section Mass.
  Variable table : list Z.

  Definition cell_mass (c r : Z) : R := IZR (around table (r - c)) / IZR TOTAL.

  (** The probability of a vector of reports. *)
  Fixpoint cells_mass (cs rs : list Z) : R :=
    match cs, rs with
    | [], [] => 1
    | c :: cs', r :: rs' => cell_mass c r * cells_mass cs' rs'
    | _, _ => 0
    end.

  Definition noisy_counts (values : nat) (outputs : list (list Z)) : mechanism (list nat) (list Z) :=
    Mechanism outputs (fun db => cells_mass (counts values db)).
End Mass.

Section Accepted.
  Variables (table : list Z) (moves en ed : Z).
  Hypothesis accepted : check_counts table moves en ed = true.

  Let p := ratio_below en ed 1 moves.
  Let e := (eps en ed * (1 / IZR moves)).

  Lemma counts_facts : (2 <= length table)%nat /\ (forall a, In a table -> (0 < a)%Z) /\ (0 <= en)%Z /\ (0 < ed)%Z /\ (1 <= moves)%Z
    /\ all_beside p (nth 0 table 0%Z) table = true.
  Proof.
    pose proof accepted as H. unfold check_counts in H. rewrite !andb_true_iff in H.
    destruct H as [[[[[[[A _] B] _] C] D] E] G]. rewrite forallb_forall in B.
    apply Z.leb_le in A, C, E. apply Z.ltb_lt in D. repeat split; try assumption; try lia.
    intros a Ha. specialize (B a Ha). now apply Z.ltb_lt in B.
  Qed.

  Lemma total_positive : 0 < IZR TOTAL.
  Proof. apply IZR_lt. reflexivity. Qed.

  Lemma cell_nonneg c r : 0 <= cell_mass table c r.
  Proof.
    destruct counts_facts as (L & P & _). pose proof (around_positive table L P (r - c)) as A. apply IZR_lt in A.
    pose proof total_positive. unfold cell_mass, Rdiv. apply Rmult_le_pos; [lra|]. left. now apply Rinv_0_lt_compat.
  Qed.

  Lemma cells_nonneg cs : forall rs, 0 <= cells_mass table cs rs.
  Proof.
    induction cs as [|c cs IH]; intros [|r rs]; cbn [cells_mass]; try lra.
    apply Rmult_le_pos; [apply cell_nonneg|apply IH].
  Qed.

  Lemma exp_one : 1 <= exp e.
  Proof.
    destruct counts_facts as (_ & _ & En & Ed & Mv & _). rewrite <- exp_0. apply Rge_le.
    destruct (Rle_lt_or_eq_dec 0 e) as [H|H]; [|left; now apply exp_increasing|rewrite <- H; lra].
    unfold e, eps, Rdiv. apply IZR_le in En, Mv. apply IZR_lt in Ed.
    repeat apply Rmult_le_pos; try lra; left; apply Rinv_0_lt_compat; lra.
  Qed.

  Lemma cell_moved c c' r : (Z.abs (c - c') <= 1)%Z -> cell_mass table c r <= exp e * cell_mass table c' r.
  Proof.
    intro H. destruct (Z.eq_dec c c') as [->|N].
    { pose proof exp_one. pose proof (cell_nonneg c' r). nra. }
    destruct counts_facts as (L & P & En & Ed & Mv & Nx).
    destruct (ratio_below_sound en ed 1 moves En Ed ltac:(lia) ltac:(lia)) as [_ Hexp]. fold (eps en ed) in Hexp. fold e in Hexp. fold p in Hexp.
    pose proof (step_weight table p L P Nx c c' r ltac:(lia)) as K. pose proof (around_positive table L P (r - c')) as A.
    assert (G : IZR (around table (r - c)) <= exp e * IZR (around table (r - c'))) by (apply (ratio_kept p); [lia|exact Hexp|exact K]).
    unfold cell_mass, Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [|exact G].
    left. apply Rinv_0_lt_compat, total_positive.
  Qed.

  Theorem cells_moved cs cs' : one_step cs cs' -> forall rs, cells_mass table cs rs <= exp e * cells_mass table cs' rs.
  Proof.
    pose proof exp_one as X. induction 1 as [l|a b l H|a l l' H IH]; intros rs.
    - pose proof (cells_nonneg l rs). nra.
    - destruct rs as [|r rs]; cbn [cells_mass]; [lra|]. rewrite <- Rmult_assoc.
      apply Rmult_le_compat_r; [apply cells_nonneg|now apply cell_moved].
    - destruct rs as [|r rs]; cbn [cells_mass]; [lra|]. pose proof (cell_nonneg a r). specialize (IH rs).
      replace (exp e * (cell_mass table a r * cells_mass table l' rs)) with (cell_mass table a r * (exp e * cells_mass table l' rs)) by ring.
      now apply Rmult_le_compat_l.
  Qed.

  Variables (values : nat) (outputs : list (list Z)).

  Lemma counts_added : pointwise added e (noisy_counts table values outputs).
  Proof.
    intros db db' H o _. cbn [noisy_counts mass]. apply cells_moved.
    destruct H as [H|H]; [|apply one_step_back]; now apply counts_step.
  Qed.

  (** So many records come or go. *)
  Theorem counts_promise : private (chain added (Z.to_nat moves)) (eps en ed) (noisy_counts table values outputs).
  Proof.
    destruct counts_facts as (_ & _ & _ & _ & Mv & _).
    pose proof (group_privacy _ _ _ (pointwise_private _ _ _ counts_added) (Z.to_nat moves)) as G.
    replace (INR (Z.to_nat moves) * e) with (eps en ed) in G; [exact G|].
    rewrite INR_IZR_INZ, Z2Nat.id by lia. unfold e. field. apply not_0_IZR. lia.
  Qed.
End Accepted.

(** Changed records are records that go and come. *)
Lemma changed_added n (db db' : list nat) : chain replaced n db db' -> chain added (2 * n) db db'.
Proof.
  induction 1 as [db|n db db1 db2 H _ IH]; [constructor|]. destruct (replaced_extended _ _ H) as (db0 & A & B).
  replace (2 * S n)%nat with (S (S (2 * n))) by lia. apply chain_cons with db0; [now right|]. apply chain_cons with db1; [now left|exact IH].
Qed.
