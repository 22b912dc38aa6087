(** check_response of trusted/certify.py, the sampler of trusted/samplers.py, and the proof that together they are private.

    Randomized response over [size] answers: each answer owns [other] of the 2^62 words, and the true one those that are
    left as well.

    response_weights       what the sampler reads off the words: each wrong answer has [other] of them, the true one the rest
    response_pointwise     hence any two answers keep the ratio exp (epsilon), for every report
    response_distribution  and the masses of every answer sum to one *)
From Coq Require Import ZArith Reals List Bool Lra Lia Arith.
From Inbounds Require Import Exp Privacy Matrix Words.
Import ListNotations.
Open Scope Z_scope.

(** * The checker *)
Definition check_response (size other en ed : Z) : bool :=
  (0 <=? en) && (0 <? ed) && (1 <? size) && (0 <? other) && (0 <=? TOTAL - size * other)
  && (Z.shiftl (TOTAL - (size - 1) * other) EXP_BITS <=? ratio_below en ed 1 1 * other).

(** * The sampler *)
Definition truthful (size other : Z) : nat := Z.to_nat (TOTAL - size * other).

Definition response_report (size other : Z) (answer word : nat) : nat :=
  if (word <? truthful size other)%nat then answer else ((word - truthful size other) / Z.to_nat other)%nat.

Definition response_law (size other : Z) : mechanism nat nat :=
  drawn WORDS (Z.to_nat size) (response_report size other).

(** * Soundness *)
Section Accepted.
  Variables (size other en ed : Z).
  Hypothesis accepted : check_response size other en ed = true.

  Lemma response_facts : 0 <= en /\ 0 < ed /\ 1 < size /\ 0 < other /\ 0 <= TOTAL - size * other /\
    (TOTAL - (size - 1) * other) * 2 ^ EXP_BITS <= ratio_below en ed 1 1 * other.
  Proof.
    pose proof accepted as H. unfold check_response in H. rewrite !andb_true_iff in H.
    destruct H as [[[[[A B] C] D] E] F]. apply Z.leb_le in A, E, F. apply Z.ltb_lt in B, C, D.
    rewrite Z.shiftl_mul_pow2 in F by easy. repeat split; assumption.
  Qed.

  Lemma words_split : WORDS = (truthful size other + Z.to_nat size * Z.to_nat other)%nat.
  Proof. destruct response_facts as (_ & _ & S & O & H & _). pose proof words_total. unfold truthful. nia. Qed.

  Theorem response_weights j i : (i < Z.to_nat size)%nat ->
    hits WORDS (fun word => response_report size other j word =? i)%nat
    = (if (j =? i)%nat then TOTAL - (size - 1) * other else other).
  Proof.
    destruct response_facts as (_ & _ & S & O & H & _). intro Hi. rewrite words_split, hits_split.
    rewrite (hits_ext (truthful size other) _ (fun _ => j =? i)%nat).
    2:{ intros u Hu. unfold response_report. apply Nat.ltb_lt in Hu. now rewrite Hu. }
    rewrite (hits_ext (Z.to_nat size * Z.to_nat other) _ (fun u => u / Z.to_nat other =? i)%nat).
    2:{ intros u _. unfold response_report. destruct (Nat.ltb_spec (truthful size other + u) (truthful size other)); [lia|].
        now replace (truthful size other + u - truthful size other)%nat with u by lia. }
    rewrite quotient_hits by assumption. unfold truthful. destruct (j =? i)%nat.
    - rewrite hits_all. lia.
    - rewrite hits_none. lia.
  Qed.

  Open Scope R_scope.

  Theorem response_distribution j : (j < Z.to_nat size)%nat -> distribution (response_law size other) j.
  Proof.
    destruct response_facts as (_ & _ & S & O & H & _). intro Hj. apply drawn_distribution.
    - pose proof words_total as W. unfold TOTAL in W. lia.
    - intros u Hu. unfold response_report. destruct (Nat.ltb_spec u (truthful size other)); [assumption|].
      apply Nat.div_lt_upper_bound; [lia|]. rewrite words_split in Hu. lia.
  Qed.

  Theorem response_pointwise j k : forall i, In i (outs (response_law size other)) ->
    mass (response_law size other) j i <= exp (eps en ed) * mass (response_law size other) k i.
  Proof.
    destruct response_facts as (E & D & S & O & H & K). intros i Hi. cbn [response_law drawn outs mass] in *.
    apply in_seq in Hi. rewrite !response_weights by lia.
    assert (W : 0 < INR WORDS) by (rewrite INR_IZR_INZ, words_total; apply IZR_pos; reflexivity).
    unfold Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|].
    destruct (ratio_below_sound en ed 1 1 E D ltac:(lia) ltac:(lia)) as [P Q].
    replace (IZR en / IZR ed * (1 / 1)) with (eps en ed) in Q by (unfold eps, Rdiv; rewrite Rinv_1; ring).
    assert (T : (0 < 2 ^ EXP_BITS)%Z) by reflexivity.
    apply (ratio_kept (ratio_below en ed 1 1)); [destruct (k =? i)%nat; lia|exact Q|].
    destruct (j =? i)%nat, (k =? i)%nat; nia.
  Qed.
End Accepted.
