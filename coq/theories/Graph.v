(** Answers on any graph: edges with lengths, possibly one-way, and the proof that checking edges is enough.

    An edge (j, k, d) says that telling answer j from answer k costs d epsilons. The checker compares the two weights of
    every output across every edge.

    check_edges_sound  every edge keeps its ratio
    path_private       lengths along a path add up, so any two answers with a path between them keep its length,
                       the shortest path's in particular, for every set of reports
    graph_promise      hence for a statistic that moves along paths of length at most d between neighbours *)
From Coq Require Import ZArith Reals List Bool Lra Lia.
From Inbounds Require Import Exp Privacy Matrix.
Import ListNotations.
Open Scope Z_scope.

(** * The checker *)
Record edge := Edge { tail : nat; head : nat; enum : Z; eden : Z }.

Definition edge_keeps (W : list (list Z)) (p : Z) (e : edge) : bool :=
  forallb (fun row => Z.shiftl (nth (tail e) row 0) EXP_BITS <=? p * nth (head e) row 0) W.

Definition check_edges (n : nat) (W : list (list Z)) (edges : list edge) (en ed : Z) : bool :=
  check_product TOTAL n W [] en ed
  && forallb (fun e => (tail e <? n)%nat && (head e <? n)%nat && (0 <=? enum e) && (0 <? eden e)
                       && edge_keeps W (ratio_below en ed (enum e) (eden e)) e) edges.

(** * Soundness *)
Open Scope R_scope.

Definition edge_length (e : edge) : R := IZR (enum e) / IZR (eden e).

(** A path along edges, and its length. *)
Inductive path (edges : list edge) : nat -> nat -> R -> Prop :=
| path_here j : path edges j j 0
| path_along e k d : In e edges -> path edges (head e) k d -> path edges (tail e) k (edge_length e + d).

Section Accepted.
  Variables (n : nat) (W : list (list Z)) (edges : list edge) (en ed : Z).
  Hypothesis accepted : check_edges n W edges en ed = true.
  Let m := law TOTAL W.

  Theorem edges_distribution j : (j < n)%nat -> distribution m j.
  Proof. apply andb_true_iff in accepted as [H _]. exact (law_distribution _ _ _ _ _ _ H j). Qed.

  Theorem check_edges_sound e : In e edges -> forall i, In i (outs m) ->
    mass m (tail e) i <= exp (eps en ed * edge_length e) * mass m (head e) i.
  Proof.
    intros He i Hi. pose proof accepted as A. unfold check_edges in A. apply andb_true_iff in A as [H A].
    rewrite forallb_forall in A. specialize (A e He). rewrite !andb_true_iff in A. destruct A as [[[[_ _] D] E] K].
    apply Z.leb_le in D. apply Z.ltb_lt in E. cbn [m law outs mass] in *. apply in_seq in Hi.
    destruct (check_product_sound _ _ _ _ _ _ H) as (Tp & En & Ed & Pos & _).
    destruct (ratio_below_sound en ed (enum e) (eden e) En Ed D E) as [_ Hexp].
    unfold edge_keeps in K. rewrite forallb_forall in K. specialize (K (nth i W []) ltac:(apply nth_In; lia)).
    apply Z.leb_le in K. rewrite Z.shiftl_mul_pow2 in K by easy.
    assert (HT : 0 < IZR TOTAL) by (apply IZR_pos; reflexivity).
    change (IZR (weight W i (tail e)) * / IZR TOTAL <= exp (eps en ed * edge_length e) * (IZR (weight W i (head e)) * / IZR TOTAL)).
    rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|].
    apply (ratio_kept (ratio_below en ed (enum e) (eden e))); [apply Pos|exact Hexp|exact K].
  Qed.

  Theorem path_pointwise j k d : path edges j k d -> forall i, In i (outs m) ->
    mass m j i <= exp (eps en ed * d) * mass m k i.
  Proof.
    induction 1 as [j|e k d He P IH]; intros i Hi.
    - rewrite Rmult_0_r, exp_0. lra.
    - rewrite Rmult_plus_distr_l, exp_plus, Rmult_assoc. eapply Rle_trans; [now apply check_edges_sound|].
      apply Rmult_le_compat_l; [left; apply exp_pos|]. now apply IH.
  Qed.

  (** For every path, so for a shortest one. *)
  Theorem path_private d : private (fun j k => path edges j k d) (eps en ed * d) m.
  Proof. apply pointwise_private. intros j k P i Hi. now apply path_pointwise. Qed.

  Theorem graph_promise {D} (near : D -> D -> Prop) (answer : D -> nat) d :
    (forall db db', near db db' -> path edges (answer db) (answer db') d) -> private near (eps en ed * d) (ask answer m).
  Proof. intro H. apply (ask_private near (fun j k => path edges j k d)); [assumption|apply path_private]. Qed.
End Accepted.
