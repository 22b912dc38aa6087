(** check_blocks of trusted/certify.py and the sampler of trusted/samplers.py, for any family of sets of labels; and the
    proof that together they are private.

    A report names one of [blocks] sets. A first word decides, [inside] of 2^62, whether the set is one of the [holding]
    that hold the true label; a second word modulo the number of such sets decides which one. [place] gives the set.

    one_place            where every set is the place of some index, it is that of one index only
    block_words          of the 2^124 pairs of words, every set under every label has between the least and the greatest
    blocks_pointwise     hence any two labels keep the ratio exp (epsilon), for every report
    blocks_distribution  and the masses of every label sum to one
    holding_exact        where places are inside as they say, every label lies in exactly [holding] of the sets *)
From Coq Require Import ZArith Reals List Bool Lra Lia Arith Permutation.
From Inbounds Require Import Exp Privacy Matrix Alias Words.
Import ListNotations.
Open Scope Z_scope.

(** * The checker *)
Definition least_weight (blocks holding inside : Z) : Z :=
  Z.min (inside * (TOTAL / holding)) ((TOTAL - inside) * (TOTAL / (blocks - holding))).
Definition greatest_weight (blocks holding inside : Z) : Z :=
  Z.max (inside * - (- TOTAL / holding)) ((TOTAL - inside) * - (- TOTAL / (blocks - holding))).

Definition check_blocks (blocks holding inside en ed : Z) : bool :=
  (0 <=? en) && (0 <? ed) && (0 <? holding) && (holding <? blocks) && (blocks <=? TOTAL)
  && (0 <? inside) && (inside <? TOTAL)
  && (Z.shiftl (greatest_weight blocks holding inside) EXP_BITS <=? ratio_below en ed 1 1 * least_weight blocks holding inside).

(** * Places: the sets that hold a label, and the others, by their index *)
Section Places.
  Variables (blocks holding : Z) (place : bool -> Z -> Z).
  Hypothesis some : 0 <= holding <= blocks.

  Definition sets (side : bool) : Z := if side then holding else blocks - holding.

  Definition every_block : Prop :=
    forall b, 0 <= b < blocks -> exists side i, 0 <= i < sets side /\ place side i = b.

  Let choices (side : bool) : list (bool * Z) := map (fun i => (side, Z.of_nat i)) (seq 0 (Z.to_nat (sets side))).
  Let all_choices : list (bool * Z) := choices true ++ choices false.
  Let images : list Z := map (fun c => place (fst c) (snd c)) all_choices.
  Let targets : list Z := map Z.of_nat (seq 0 (Z.to_nat blocks)).

  Lemma in_choices c : In c all_choices <-> 0 <= snd c < sets (fst c).
  Proof.
    assert (G : forall side c, In c (choices side) <-> fst c = side /\ 0 <= snd c < sets side).
    { intros side [s i]. unfold choices. rewrite in_map_iff. cbn [fst snd]. split.
      - intros (n & E & Hn). injection E as <- <-. apply in_seq in Hn. split; [reflexivity|lia].
      - intros [-> H]. exists (Z.to_nat i). rewrite Z2Nat.id by lia. split; [reflexivity|]. apply in_seq. lia. }
    unfold all_choices. rewrite in_app_iff, !G. destruct (fst c); intuition congruence.
  Qed.

  Lemma in_targets b : In b targets <-> 0 <= b < blocks.
  Proof.
    unfold targets. rewrite in_map_iff. split.
    - intros (n & <- & Hn). apply in_seq in Hn. lia.
    - intro H. exists (Z.to_nat b). rewrite Z2Nat.id by lia. split; [reflexivity|]. apply in_seq. lia.
  Qed.

  Lemma targets_nodup : NoDup targets.
  Proof. apply FinFun.Injective_map_NoDup; [|apply seq_NoDup]. intros a b E. lia. Qed.

  Lemma as_many : length images = length targets.
  Proof.
    unfold images, targets, all_choices, choices, sets. rewrite !map_length, app_length, !map_length, !seq_length. lia.
  Qed.

  Hypothesis covered : every_block.

  Lemma images_permutation : Permutation targets images.
  Proof.
    apply NoDup_Permutation_bis; [apply targets_nodup|now rewrite as_many|].
    intros b Hb. apply in_targets in Hb. destruct (covered b Hb) as (side & i & Hi & E).
    unfold images. apply in_map_iff. exists (side, i). split; [exact E|]. now apply in_choices.
  Qed.

  Lemma place_range side i : 0 <= i < sets side -> 0 <= place side i < blocks.
  Proof.
    intro H. apply in_targets. apply (Permutation_in _ (Permutation_sym images_permutation)).
    unfold images. apply in_map_iff. exists (side, i). split; [reflexivity|]. now apply in_choices.
  Qed.

  Theorem one_place side i side' i' : 0 <= i < sets side -> 0 <= i' < sets side' -> place side i = place side' i' ->
    side = side' /\ i = i'.
  Proof.
    intros H H' E.
    assert (N : NoDup images) by (apply (Permutation_NoDup images_permutation), targets_nodup).
    assert (G : forall l, NoDup (map (fun c => place (fst c) (snd c)) l) -> forall c c' : bool * Z, In c l -> In c' l ->
              place (fst c) (snd c) = place (fst c') (snd c') -> c = c').
    { induction l as [|d l IH]; intros Nd c c' Hc Hc' Ec; [easy|]. cbn [map] in Nd. inversion Nd as [|? ? Out Nd']; subst.
      destruct Hc as [->|Hc], Hc' as [->|Hc']; auto.
      - exfalso. apply Out. rewrite Ec. now apply (in_map (fun c => place (fst c) (snd c))).
      - exfalso. apply Out. rewrite <- Ec. now apply (in_map (fun c => place (fst c) (snd c))). }
    specialize (G _ N (side, i) (side', i')). rewrite !in_choices in G. specialize (G H H' E). now injection G.
  Qed.

  (** In how many sets a label lies. *)
  Theorem holding_exact (holds : Z -> bool) : (forall side i, 0 <= i < sets side -> holds (place side i) = side) ->
    Z.of_nat (length (filter holds (map Z.of_nat (seq 0 (Z.to_nat blocks))))) = holding.
  Proof.
    intro H. fold targets.
    assert (P : forall l l' : list Z, Permutation l l' -> length (filter holds l) = length (filter holds l')).
    { induction 1 as [|x l l' _ IH|x y l|l l' l'' _ IH _ IH']; cbn [filter]; auto; [|destruct (holds x), (holds y); reflexivity|congruence].
      destruct (holds x); cbn [length]; congruence. }
    rewrite (P _ _ images_permutation).
    assert (G : forall side, filter holds (map (fun c => place (fst c) (snd c)) (choices side))
                             = if side then map (fun c => place (fst c) (snd c)) (choices side) else []).
    { intro side. assert (A : forall c, In c (choices side) -> holds (place (fst c) (snd c)) = side).
      { intros [s i] Hc. unfold choices in Hc. apply in_map_iff in Hc as (n & E & Hn). injection E as <- <-. apply in_seq in Hn.
        cbn [fst snd]. apply H. lia. }
      induction (choices side) as [|c l IH]; [now destruct side|]. cbn [map filter]. rewrite A by (now left).
      rewrite IH by (intros; apply A; now right). now destruct side. }
    unfold images, all_choices. rewrite map_app, filter_app, !G, app_nil_r, map_length.
    unfold choices. rewrite map_length, seq_length. cbn [sets]. lia.
  Qed.

  (** * The sampler: the first word decides the side, the second which of its sets *)
  Variable inside : Z.
  Hypothesis inside_some : 0 < inside < TOTAL.
  Hypothesis both : 0 < holding < blocks.

  Definition block_report (words : nat) : Z :=
    let side := Z.of_nat (words / WORDS) <? inside in place side (Z.of_nat (words mod WORDS) mod sets side).

  Lemma sets_pos side : 0 < sets side.
  Proof. destruct side; cbn; lia. Qed.

  Lemma words_some : (0 < WORDS)%nat.
  Proof. pose proof words_total as W. unfold TOTAL in W. lia. Qed.

  Lemma report_range words : 0 <= block_report words < blocks.
  Proof. unfold block_report. apply place_range. apply Z.mod_pos_bound, sets_pos. Qed.

  Lemma hits_pairs n m f : hits (n * m) f = sum n (fun c => hits m (fun u => f (c * m + u)%nat)).
  Proof.
    induction n as [|n IH]; [reflexivity|]. replace (S n * m)%nat with (n * m + m)%nat by lia. rewrite hits_split, IH. reflexivity.
  Qed.

  (** Of the second words, those that lead to a set of one side. *)
  Let second (side : bool) (b : nat) : Z :=
    hits WORDS (fun u => Z.to_nat (place side (Z.of_nat u mod sets side)) =? b)%nat.

  Lemma block_words_split b : hits (WORDS * WORDS) (fun words => Z.to_nat (block_report words) =? b)%nat
    = inside * second true b + (TOTAL - inside) * second false b.
  Proof.
    pose proof words_some as P. pose proof words_total as W. rewrite hits_pairs.
    rewrite (sum_ext WORDS _ (fun c => second (Z.of_nat c <? inside) b)).
    2:{ intros c Hc. apply hits_ext. intros u Hu. unfold block_report.
        replace ((c * WORDS + u) / WORDS)%nat with c by (rewrite Nat.add_comm, Nat.div_add, Nat.div_small by lia; reflexivity).
        replace ((c * WORDS + u) mod WORDS)%nat with u by (rewrite Nat.add_comm, Nat.mod_add, Nat.mod_small by lia; reflexivity).
        reflexivity. }
    replace WORDS with (Z.to_nat inside + (WORDS - Z.to_nat inside))%nat at 1 by lia. rewrite sum_split.
    rewrite (sum_ext (Z.to_nat inside) _ (fun _ => second true b)).
    2:{ intros c Hc. destruct (Z.ltb_spec (Z.of_nat c) inside); [reflexivity|lia]. }
    rewrite (sum_ext (WORDS - Z.to_nat inside) _ (fun _ => second false b)).
    2:{ intros c Hc. destruct (Z.ltb_spec (Z.of_nat (Z.to_nat inside + c)) inside); [lia|reflexivity]. }
    assert (C : forall n x, sum n (fun _ => x) = Z.of_nat n * x) by (intros n x; induction n as [|n IH]; cbn [sum]; lia).
    rewrite !C. generalize (second true b), (second false b). intros x y. rewrite Nat2Z.inj_sub, W by lia. rewrite Z2Nat.id by lia. reflexivity.
  Qed.

  Lemma second_hits side i : 0 <= i < sets side ->
    second side (Z.to_nat (place side i)) = hits WORDS (fun u => u mod Z.to_nat (sets side) =? Z.to_nat i)%nat
    /\ second (negb side) (Z.to_nat (place side i)) = 0.
  Proof.
    intro Hi. pose proof (place_range side i Hi) as R. pose proof (sets_pos side) as S0. split.
    - apply hits_ext. intros u _. pose proof (Z.mod_pos_bound (Z.of_nat u) (sets side) S0) as M.
      pose proof (place_range side _ M) as R'.
      assert (E : Z.of_nat u mod sets side = Z.of_nat (u mod Z.to_nat (sets side))) by (rewrite Nat2Z.inj_mod, Z2Nat.id by lia; reflexivity).
      destruct (Nat.eqb_spec (u mod Z.to_nat (sets side)) (Z.to_nat i)) as [F|F].
      + apply Nat.eqb_eq. f_equal. f_equal. lia.
      + apply Nat.eqb_neq. intro G. apply F. assert (P : place side (Z.of_nat u mod sets side) = place side i) by lia.
        apply one_place in P; try assumption. lia.
    - unfold second. rewrite <- (hits_none WORDS). apply hits_ext. intros u _. pose proof (sets_pos (negb side)) as S1.
      pose proof (Z.mod_pos_bound (Z.of_nat u) _ S1) as M. pose proof (place_range _ _ M) as R'.
      apply Nat.eqb_neq. intro G.
      assert (P : place (negb side) (Z.of_nat u mod sets (negb side)) = place side i) by lia.
      apply one_place in P; try assumption. destruct P as [P _]. now destruct side.
  Qed.

  Theorem block_words b : (b < Z.to_nat blocks)%nat ->
    least_weight blocks holding inside <= hits (WORDS * WORDS) (fun words => Z.to_nat (block_report words) =? b)%nat
      <= greatest_weight blocks holding inside.
  Proof.
    intro Hb. rewrite block_words_split. destruct (covered (Z.of_nat b) ltac:(lia)) as (side & i & Hi & E).
    assert (Eb : b = Z.to_nat (place side i)) by lia. clear E. subst b.
    destruct (second_hits side i Hi) as [A B]. pose proof (residue_hits WORDS (Z.to_nat (sets side)) (Z.to_nat i) ltac:(lia)) as R.
    rewrite words_total, Z2Nat.id in R by (pose proof (sets_pos side); lia). rewrite <- A in R. clear A.
    unfold least_weight, greatest_weight. destruct side; cbn [negb sets] in *; rewrite B.
    - revert R. generalize (second true (Z.to_nat (place true i))). intros x R. split.
      + etransitivity; [apply Z.le_min_l|]. nia.
      + etransitivity; [|apply Z.le_max_l]. nia.
    - revert R. generalize (second false (Z.to_nat (place false i))). intros x R. split.
      + etransitivity; [apply Z.le_min_r|]. nia.
      + etransitivity; [|apply Z.le_max_r]. nia.
  Qed.
End Places.

(** * The mechanism of a family: [place] of every label *)
Definition block_law (blocks holding inside : Z) (place : nat -> bool -> Z -> Z) : mechanism nat nat :=
  drawn (WORDS * WORDS) (Z.to_nat blocks) (fun label words => Z.to_nat (block_report blocks holding (place label) inside words)).

Section Accepted.
  Variables (blocks holding inside en ed : Z) (place : nat -> bool -> Z -> Z).
  Hypothesis accepted : check_blocks blocks holding inside en ed = true.

  Lemma block_facts : 0 <= en /\ 0 < ed /\ 0 < holding < blocks /\ blocks <= TOTAL /\ 0 < inside < TOTAL /\
    greatest_weight blocks holding inside * 2 ^ EXP_BITS <= ratio_below en ed 1 1 * least_weight blocks holding inside.
  Proof.
    pose proof accepted as H. unfold check_blocks in H. rewrite !andb_true_iff in H.
    destruct H as [[[[[[[A B] C] D] E] F] G] K]. apply Z.leb_le in A, E, K. apply Z.ltb_lt in B, C, D, F, G.
    rewrite Z.shiftl_mul_pow2 in K by easy. repeat split; assumption.
  Qed.

  Definition places_of (label : nat) : Prop := every_block blocks holding (place label).

  Open Scope R_scope.

  Theorem blocks_distribution label : places_of label -> distribution (block_law blocks holding inside place) label.
  Proof.
    intro P. destruct block_facts as (_ & _ & H & _ & I & _). apply drawn_distribution.
    - pose proof words_some. nia.
    - intros u _. pose proof (report_range blocks holding (place label) ltac:(lia) P inside H u). lia.
  Qed.

  Theorem blocks_pointwise j k : places_of j -> places_of k -> forall i, In i (outs (block_law blocks holding inside place)) ->
    mass (block_law blocks holding inside place) j i <= exp (eps en ed) * mass (block_law blocks holding inside place) k i.
  Proof.
    intros Pj Pk i Hi. destruct block_facts as (E & D & H & L & I & K). cbn [block_law drawn outs mass] in *. apply in_seq in Hi.
    assert (W : 0 < INR (WORDS * WORDS)) by (apply lt_0_INR; pose proof words_some; nia).
    unfold Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|].
    destruct (ratio_below_sound en ed 1 1 E D ltac:(lia) ltac:(lia)) as [P Q].
    replace (IZR en / IZR ed * (1 / 1)) with (eps en ed) in Q by (unfold eps, Rdiv; rewrite Rinv_1; ring).
    pose proof (block_words blocks holding (place j) ltac:(lia) Pj inside I H i ltac:(lia)) as [_ Uj].
    pose proof (block_words blocks holding (place k) ltac:(lia) Pk inside I H i ltac:(lia)) as [Lk _].
    assert (T : (0 < 2 ^ EXP_BITS)%Z) by reflexivity.
    apply (ratio_kept (ratio_below en ed 1 1)); [apply hits_pos|exact Q|].
    revert Uj Lk K. generalize (hits (WORDS * WORDS) (fun u => Z.to_nat (block_report blocks holding (place j) inside u) =? i)%nat).
    generalize (hits (WORDS * WORDS) (fun u => Z.to_nat (block_report blocks holding (place k) inside u) =? i)%nat).
    generalize (greatest_weight blocks holding inside), (least_weight blocks holding inside). intros. nia.
  Qed.
End Accepted.
