(** Answers on any graph: edges with lengths, possibly one-way, and the proof that checking edges is enough.

    An edge (j, k, d) says that telling answer j from answer k costs d epsilons. The checker compares the two weights of
    every output across every edge. Edges of one length come as a group, so that its ratio is computed once.

    check_edges_sound  every edge keeps its ratio
    path_private       lengths along a path add up, so any two answers with a path between them keep its length,
                       the shortest path's in particular, for every set of reports
    graph_promise      hence for a statistic that moves along paths of length at most d between neighbours *)
From Coq Require Import ZArith Reals List Bool Lra Lia.
From Inbounds Require Import Exp Privacy Matrix.
Import ListNotations.
Open Scope Z_scope.

(** * Edges *)
Record edge := Edge { tail : nat; head : nat; enum : Z; eden : Z }.

(** All edges of the length gnum / gden. *)
Record group := Group { gnum : Z; gden : Z; ends : list (nat * nat) }.

Definition edges_of_group (g : group) : list edge := map (fun e => Edge (fst e) (snd e) (gnum g) (gden g)) (ends g).
Definition edges_of (groups : list group) : list edge := flat_map edges_of_group groups.

(** * The checker *)

(** The columns of a matrix, each as a list. *)
Fixpoint put_before (row : list Z) (columns : list (list Z)) : list (list Z) :=
  match row, columns with
  | x :: row', column :: columns' => (x :: column) :: put_before row' columns'
  | _, _ => []
  end.

Definition columns (n : nat) (W : list (list Z)) : list (list Z) := fold_right put_before (repeat [] n) W.

Fixpoint keeps_ratio (p : Z) (highs lows : list Z) : bool :=
  match highs, lows with
  | high :: highs', low :: lows' => (Z.shiftl high EXP_BITS <=? p * low) && keeps_ratio p highs' lows'
  | [], [] => true
  | _, _ => false
  end.

Definition check_edges (n : nat) (W : list (list Z)) (groups : list group) (en ed : Z) : bool :=
  check_product TOTAL n W [] en ed
  && (let C := columns n W in
      forallb (fun g => (0 <=? gnum g) && (0 <? gden g)
        && (let p := ratio_below en ed (gnum g) (gden g) in
            forallb (fun e => (fst e <? n)%nat && (snd e <? n)%nat
                              && keeps_ratio p (nth (fst e) C []) (nth (snd e) C [])) (ends g))) groups).

(** * Columns *)
Lemma put_before_length row : forall columns, length row = length columns ->
  length (put_before row columns) = length columns.
Proof. induction row as [|x row IH]; intros [|c columns] H; cbn in *; lia || auto. Qed.

Lemma put_before_nth row : forall columns j, length row = length columns -> (j < length columns)%nat ->
  nth j (put_before row columns) [] = nth j row 0 :: nth j columns [].
Proof.
  induction row as [|x row IH]; intros [|c columns] [|j] H Hj; cbn in *; try lia; [reflexivity|].
  apply IH; lia.
Qed.

Lemma columns_spec n W : (forall row, In row W -> length row = n) ->
  length (columns n W) = n /\ forall j, (j < n)%nat -> nth j (columns n W) [] = map (fun row => nth j row 0) W.
Proof.
  induction W as [|row W IH]; intro H.
  - split; [apply repeat_length|]. intros j Hj. cbn. apply nth_repeat.
  - destruct IH as [IL IN]; [intros; apply H; now right|].
    assert (Hrow : length row = n) by (apply H; now left).
    change (columns n (row :: W)) with (put_before row (columns n W)). split.
    + rewrite put_before_length; lia.
    + intros j Hj. rewrite put_before_nth by lia. now rewrite IN.
Qed.

Lemma keeps_ratio_sound p highs : forall lows, keeps_ratio p highs lows = true ->
  forall i, nth i highs 0 * 2 ^ EXP_BITS <= p * nth i lows 0.
Proof.
  induction highs as [|h highs IH]; intros [|l lows] H i; try discriminate.
  - destruct i; cbn; lia.
  - cbn [keeps_ratio] in H. apply andb_true_iff in H as [H H']. apply Z.leb_le in H.
    rewrite Z.shiftl_mul_pow2 in H by easy. destruct i as [|i]; [assumption|]. cbn [nth]. now apply IH.
Qed.

(** * Paths *)
Open Scope R_scope.

Definition edge_length (e : edge) : R := IZR (enum e) / IZR (eden e).

(** A path along edges, and its length. *)
Inductive path (edges : list edge) : nat -> nat -> R -> Prop :=
| path_here j : path edges j j 0
| path_along e k d : In e edges -> path edges (head e) k d -> path edges (tail e) k (edge_length e + d).

(** Any mechanism that keeps the ratio of every edge keeps that of every path. *)
Section Paths.
  Variables (m : mechanism nat nat) (edges : list edge) (epsilon : R).
  Hypothesis kept : forall e, In e edges -> forall i, In i (outs m) ->
    mass m (tail e) i <= exp (epsilon * edge_length e) * mass m (head e) i.

  Lemma along_path j k d : path edges j k d -> forall i, In i (outs m) ->
    mass m j i <= exp (epsilon * d) * mass m k i.
  Proof.
    induction 1 as [j|e k d He P IH]; intros i Hi.
    - rewrite Rmult_0_r, exp_0. lra.
    - rewrite Rmult_plus_distr_l, exp_plus, Rmult_assoc. eapply Rle_trans; [now apply kept|].
      apply Rmult_le_compat_l; [left; apply exp_pos|]. now apply IH.
  Qed.

  Lemma along_path_private d : private (fun j k => path edges j k d) (epsilon * d) m.
  Proof. apply pointwise_private. intros j k P i Hi. now apply along_path. Qed.

  Lemma along_path_promise {D} (near : D -> D -> Prop) (answer : D -> nat) d :
    (forall db db', near db db' -> path edges (answer db) (answer db') d) -> private near (epsilon * d) (ask answer m).
  Proof. intro H. apply (ask_private near (fun j k => path edges j k d)); [assumption|apply along_path_private]. Qed.
End Paths.

(** * Soundness *)
Section Accepted.
  Variables (n : nat) (W : list (list Z)) (groups : list group) (en ed : Z).
  Hypothesis accepted : check_edges n W groups en ed = true.
  Let m := law TOTAL W.
  Let edges := edges_of groups.

  Theorem edges_distribution j : (j < n)%nat -> distribution m j.
  Proof. apply andb_true_iff in accepted as [H _]. exact (law_distribution _ _ _ _ _ _ H j). Qed.

  Theorem check_edges_sound e : In e edges -> forall i, In i (outs m) ->
    mass m (tail e) i <= exp (eps en ed * edge_length e) * mass m (head e) i.
  Proof.
    intros He i Hi. pose proof accepted as A. unfold check_edges in A. apply andb_true_iff in A as [H A].
    apply in_flat_map in He as (g & Hg & He). apply in_map_iff in He as (e' & <- & He).
    rewrite forallb_forall in A. specialize (A g Hg). rewrite !andb_true_iff in A. destruct A as [[D E] A].
    rewrite forallb_forall in A. specialize (A e' He). rewrite !andb_true_iff in A. destruct A as [[Ht Hh] K].
    apply Z.leb_le in D. apply Z.ltb_lt in E. apply Nat.ltb_lt in Ht, Hh.
    cbn [m law outs mass tail head] in *. apply in_seq in Hi.
    destruct (check_product_sound _ _ _ _ _ _ H) as (Tp & En & Ed & Pos & _).
    destruct (ratio_below_sound en ed (gnum g) (gden g) En Ed D E) as [_ Hexp].
    assert (L : forall row, In row W -> length row = n).
    { unfold check_product in H. rewrite !andb_true_iff in H. destruct H as [[[[_ R] _] _] _].
      rewrite forallb_forall in R. intros row Hr. specialize (R row Hr). apply andb_true_iff in R as [R _].
      now apply Nat.eqb_eq. }
    destruct (columns_spec n W L) as [_ C]. rewrite !C in K by assumption.
    pose proof (keeps_ratio_sound _ _ _ K i) as G.
    assert (V : forall j, nth i (map (fun row => nth j row 0%Z) W) 0%Z = weight W i j).
    { intro j. rewrite (nth_indep _ _ (nth j [] 0%Z)) by (rewrite map_length; lia).
      now rewrite (map_nth (fun row => nth j row 0%Z)). }
    rewrite !V in G.
    assert (HT : 0 < IZR TOTAL) by (apply IZR_pos; reflexivity).
    unfold Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|].
    apply (ratio_kept (ratio_below en ed (gnum g) (gden g))); [apply Pos|exact Hexp|exact G].
  Qed.

  Theorem path_pointwise j k d : path edges j k d -> forall i, In i (outs m) ->
    mass m j i <= exp (eps en ed * d) * mass m k i.
  Proof. exact (along_path m edges _ check_edges_sound j k d). Qed.

  (** For every path, so for a shortest one. *)
  Theorem path_private d : private (fun j k => path edges j k d) (eps en ed * d) m.
  Proof. exact (along_path_private m edges _ check_edges_sound d). Qed.

  Theorem graph_promise {D} (near : D -> D -> Prop) (answer : D -> nat) d :
    (forall db db', near db db' -> path edges (answer db) (answer db') d) -> private near (eps en ed * d) (ask answer m).
  Proof. exact (along_path_promise m edges _ check_edges_sound near answer d). Qed.
End Accepted.
