(** check_matrix, check_product and check_states of trusted/certify.py, and the proof that what they accept is private.

    W[i][j] stands for Pr[output i | answer j] = W[i][j] / total. Neighbours are runs of answers with a distance
    ([clique]): within a run, in every row, largest * 2^128 <= p * smallest with p / 2^128 <= exp (epsilon * distance).

    check_product_sound  columns are distributions over any one total, and every two answers of a run keep the ratio
    law_private          hence the mechanism of the matrix is differentially private, for every set of outputs
    check_states_sound   the same where the law depends on a level beside the answer *)
From Coq Require Import ZArith Reals List Bool Lra Lia Psatz.
From Inbounds Require Import Exp Privacy.
Import ListNotations.

Open Scope Z_scope.

Definition TOTAL := 2 ^ 62.

Record clique := Clique { start : nat; stop : nat; dnum : Z; dden : Z }.

(** * The checker *)
Fixpoint add_rows (a b : list Z) : list Z :=
  match a, b with
  | x :: a', y :: b' => x + y :: add_rows a' b'
  | _, _ => []
  end.

Definition column_sums (n : nat) (W : list (list Z)) : list Z := fold_right add_rows (repeat 0 n) W.

(** The largest of a run against the smallest. *)
Definition keeps (p : Z) (run : list Z) : bool :=
  match run with
  | [] => false
  | x :: rest => Z.shiftl (fold_left Z.max rest x) EXP_BITS <=? p * fold_left Z.min rest x
  end.

(** [rest] is [row] without its first [off] entries: runs in order are found without starting again. *)
Fixpoint row_keeps (row rest : list Z) (off : nat) (runs : list (nat * nat * Z)) : bool :=
  match runs with
  | [] => true
  | (a, b, p) :: runs' =>
      let rest' := if (off <=? a)%nat then skipn (a - off) rest else skipn a row in
      keeps p (firstn (b - a) rest') && row_keeps row rest' a runs'
  end.

Definition clique_ok (n : nat) (c : clique) : bool :=
  (stop c <=? n)%nat && (0 <=? dnum c) && (0 <? dden c).

(** Whole numbers of any size over one total. *)
Definition check_product (total : Z) (n : nat) (W : list (list Z)) (cliques : list clique) (en ed : Z) : bool :=
  (0 <? total) && (0 <=? en) && (0 <? ed)
  && forallb (fun row => (length row =? n)%nat && forallb (Z.leb 0) row) W
  && forallb (Z.eqb total) (column_sums n W)
  && forallb (clique_ok n) cliques
  && (let runs := map (fun c => (start c, stop c, ratio_below en ed (dnum c) (dden c))) cliques in
      forallb (fun row => row_keeps row row 0 runs) W).

Definition check_matrix := check_product TOTAL.

(** * What it means *)
Definition weight (W : list (list Z)) (i j : nat) : Z := nth j (nth i W []) 0.
Definition Zsum (l : list Z) : Z := fold_right Z.add 0 l.

(** * Soundness *)
Lemma fold_max_ge l : forall x, x <= fold_left Z.max l x /\ (forall y, In y l -> y <= fold_left Z.max l x).
Proof.
  induction l as [|z l IH]; intros x; cbn; [split; [lia|easy]|].
  destruct (IH (Z.max x z)) as [H1 H2]. split; [lia|].
  intros y [->|Hy]; [lia|auto].
Qed.

Lemma fold_min_le l : forall x, fold_left Z.min l x <= x /\ (forall y, In y l -> fold_left Z.min l x <= y).
Proof.
  induction l as [|z l IH]; intros x; cbn; [split; [lia|easy]|].
  destruct (IH (Z.min x z)) as [H1 H2]. split; [lia|].
  intros y [->|Hy]; [lia|auto].
Qed.

Lemma keeps_sound p run : 0 <= p -> keeps p run = true ->
  forall a b, In a run -> In b run -> a * 2 ^ EXP_BITS <= p * b.
Proof.
  intros Hp H a b Ha Hb. destruct run as [|x rest]; [easy|]. cbn [keeps] in H.
  apply Z.leb_le in H. rewrite Z.shiftl_mul_pow2 in H by easy.
  destruct (fold_max_ge rest x) as [M1 M2]. destruct (fold_min_le rest x) as [m1 m2].
  assert (a <= fold_left Z.max rest x) by (destruct Ha as [->|?]; auto).
  assert (fold_left Z.min rest x <= b) by (destruct Hb as [->|?]; auto).
  assert (0 < 2 ^ EXP_BITS) by reflexivity. nia.
Qed.

Lemma skipn_skipn' {A} (l : list A) : forall a b, skipn b (skipn a l) = skipn (a + b) l.
Proof. induction l as [|x l IH]; intros [|a] b; cbn; auto; now rewrite ?skipn_nil. Qed.

Lemma row_keeps_sound row runs : forall rest off, rest = skipn off row -> row_keeps row rest off runs = true ->
  forall a b p, In (a, b, p) runs -> keeps p (firstn (b - a) (skipn a row)) = true.
Proof.
  induction runs as [|[[a b] p] runs IH]; intros rest off Hrest H a' b' p' Hin; [easy|].
  cbn [row_keeps] in H. apply andb_true_iff in H as [H1 H2].
  assert (E : (if (off <=? a)%nat then skipn (a - off) rest else skipn a row) = skipn a row).
  { destruct (Nat.leb_spec off a); [|reflexivity]. subst rest. rewrite skipn_skipn'. f_equal. lia. }
  rewrite E in *. destruct Hin as [Heq|Hin].
  - injection Heq as -> -> ->. assumption.
  - eapply IH; [reflexivity|exact H2|exact Hin].
Qed.

Lemma in_slice {A} (d : A) (l : list A) (a b j : nat) : (a <= j < b)%nat -> (j < length l)%nat ->
  In (nth j l d) (firstn (b - a) (skipn a l)).
Proof.
  revert a b j. induction l as [|x l IH]; intros a b j Hj Hl; cbn [length] in Hl; [lia|].
  destruct a as [|a].
  - rewrite Nat.sub_0_r. cbn [skipn]. destruct b as [|b]; [lia|]. cbn [firstn].
    destruct j as [|j]; [now left|]. right. cbn [nth].
    specialize (IH 0%nat b j). rewrite Nat.sub_0_r in IH. apply IH; lia.
  - destruct b as [|b]; [lia|]. destruct j as [|j]; [lia|]. cbn. apply IH; lia.
Qed.

Lemma nth_add_rows a : forall b j, length a = length b -> nth j (add_rows a b) 0 = nth j a 0 + nth j b 0.
Proof.
  induction a as [|x a IH]; intros [|y b] [|j] H; cbn in *; try lia.
  injection H as H. now apply IH.
Qed.

Lemma length_add_rows a : forall b, length a = length b -> length (add_rows a b) = length b.
Proof. induction a as [|x a IH]; intros [|y b] H; cbn in *; lia || auto. Qed.

Lemma column_sums_spec n W : (forall row, In row W -> length row = n) ->
  length (column_sums n W) = n /\
  forall j, nth j (column_sums n W) 0 = Zsum (map (fun row => nth j row 0) W).
Proof.
  induction W as [|row W IH]; intros H; cbn.
  - split; [apply repeat_length|]. intro j. clear H. revert j. induction n; intros [|j]; cbn; auto.
  - destruct IH as [IH1 IH2]; [intros; apply H; now right|].
    assert (Hrow : length row = length (column_sums n W)) by (rewrite IH1; apply H; now left).
    fold (column_sums n W). split; [rewrite length_add_rows by assumption; assumption|].
    intro j. rewrite nth_add_rows by assumption. now rewrite IH2.
Qed.

Open Scope R_scope.

Definition eps (en ed : Z) : R := IZR en / IZR ed.
Definition distance (c : clique) : R := IZR (dnum c) / IZR (dden c).

Lemma ratio_kept (p a b : Z) (e : R) : (0 <= b)%Z -> IZR p / 2 ^ 128 <= exp e ->
  (a * 2 ^ EXP_BITS <= p * b)%Z -> IZR a <= exp e * IZR b.
Proof.
  intros Hb Hp H. apply IZR_le in H. rewrite !mult_IZR in H. apply IZR_le in Hb. rewrite two128 in Hp.
  assert (HQ : 0 < IZR (2 ^ EXP_BITS)) by (apply IZR_pos; reflexivity).
  generalize dependent (IZR (2 ^ EXP_BITS)). intros q Hp H HQ.
  apply Rle_trans with (IZR p / q * IZR b); [|now apply Rmult_le_compat_r].
  apply Rmult_le_reg_r with q; [assumption|].
  replace (IZR p / q * IZR b * q) with (IZR p * IZR b) by (field; lra). exact H.
Qed.

Theorem check_product_sound (total : Z) (n : nat) (W : list (list Z)) (cliques : list clique) (en ed : Z) :
  check_product total n W cliques en ed = true ->
  (0 < total)%Z /\ (0 <= en)%Z /\ (0 < ed)%Z /\
  (forall i j, (0 <= weight W i j)%Z) /\
  (forall j, (j < n)%nat -> Zsum (map (fun i => weight W i j) (seq 0 (length W))) = total) /\
  (forall c, In c cliques -> forall j k, (start c <= j < stop c)%nat -> (start c <= k < stop c)%nat ->
   forall i, IZR (weight W i j) <= exp (eps en ed * distance c) * IZR (weight W i k)).
Proof.
  unfold check_product. rewrite !andb_true_iff.
  intros [[[[[[Ht He] Hed] Hrows] Hsums] Hcl] Hkeep]. apply Z.ltb_lt in Ht.
  apply Z.leb_le in He. apply Z.ltb_lt in Hed.
  rewrite forallb_forall in Hrows, Hsums, Hcl, Hkeep.
  assert (Hlen : forall row, In row W -> length row = n).
  { intros row Hin. specialize (Hrows row Hin). apply andb_true_iff in Hrows as [H _]. now apply Nat.eqb_eq. }
  assert (Hpos : forall row, In row W -> forall x, In x row -> (0 <= x)%Z).
  { intros row Hin x Hx. specialize (Hrows row Hin). apply andb_true_iff in Hrows as [_ H].
    rewrite forallb_forall in H. apply Z.leb_le. auto. }
  assert (Hrow_in : forall i, (i < length W)%nat -> In (nth i W []) W) by (intros; now apply nth_In).
  do 3 (split; [assumption|]). split; [|split].
  - intros i j. unfold weight. destruct (lt_dec i (length W)) as [Hi|Hi].
    + destruct (lt_dec j (length (nth i W []))) as [Hj|Hj].
      * apply (Hpos (nth i W [])); [now apply Hrow_in|now apply nth_In].
      * rewrite nth_overflow by lia. lia.
    + rewrite (nth_overflow W) by lia. destruct j; cbn; lia.
  - intros j Hj. destruct (column_sums_spec n W Hlen) as [Hl Hn].
    assert (E : map (fun i => weight W i j) (seq 0 (length W)) = map (fun row => nth j row 0%Z) W).
    { unfold weight. clear. induction W as [|row W IH]; [reflexivity|].
      cbn [length seq map nth]. f_equal. rewrite <- seq_shift, map_map. exact IH. }
    rewrite E, <- Hn. symmetry. apply Z.eqb_eq. apply Hsums. apply nth_In. lia.
  - intros c Hc j k Hj Hk i. specialize (Hcl c Hc). unfold clique_ok in Hcl.
    rewrite !andb_true_iff in Hcl. destruct Hcl as [[Hstop Hdn] Hdd].
    apply Nat.leb_le in Hstop. apply Z.leb_le in Hdn. apply Z.ltb_lt in Hdd.
    destruct (ratio_below_sound en ed (dnum c) (dden c) He Hed Hdn Hdd) as [Hp Hexp].
    fold (eps en ed) in Hexp. fold (distance c) in Hexp.
    destruct (lt_dec i (length W)) as [Hi|Hi].
    2:{ unfold weight. rewrite (nth_overflow W) by lia. destruct j, k; cbn; lra. }
    specialize (Hrow_in i Hi). specialize (Hkeep _ Hrow_in).
    assert (Hrun : keeps (ratio_below en ed (dnum c) (dden c))
                     (firstn (stop c - start c) (skipn (start c) (nth i W []))) = true).
    { eapply row_keeps_sound; [|exact Hkeep|]; [reflexivity|].
      apply in_map_iff. exists c. split; [reflexivity|assumption]. }
    assert (Hli := Hlen _ Hrow_in).
    assert (Hz : (weight W i j * 2 ^ EXP_BITS <= ratio_below en ed (dnum c) (dden c) * weight W i k)%Z).
    { apply (keeps_sound _ _ Hp Hrun); apply in_slice; lia. }
    assert (Hwk : (0 <= weight W i k)%Z).
    { eapply Hpos; [exact Hrow_in|]. apply nth_In. lia. }
    now apply (ratio_kept (ratio_below en ed (dnum c) (dden c))).
Qed.

(** * The mechanism of a matrix of weights *)
Definition law (total : Z) (W : list (list Z)) : mechanism nat nat :=
  Mechanism (seq 0 (length W)) (fun j i => IZR (weight W i j) / IZR total).

Definition common (c : clique) (j k : nat) : Prop :=
  (start c <= j < stop c)%nat /\ (start c <= k < stop c)%nat.

Lemma rsum_Zsum {O} (l : list O) (f : O -> Z) (T : R) :
  rsum l (fun i => IZR (f i) / T) = IZR (Zsum (map f l)) / T.
Proof.
  induction l as [|i l IH]; cbn [rsum map Zsum fold_right]; [unfold Rdiv; ring|].
  rewrite IH. fold (Zsum (map f l)). rewrite plus_IZR. unfold Rdiv. ring.
Qed.

Section Accepted.
  Variables (total : Z) (n : nat) (W : list (list Z)) (cliques : list clique) (en ed : Z).
  Hypothesis accepted : check_product total n W cliques en ed = true.

  Lemma total_pos : 0 < IZR total.
  Proof. apply IZR_pos. apply (check_product_sound _ _ _ _ _ _ accepted). Qed.

  Lemma eps_nonneg : 0 <= eps en ed.
  Proof.
    destruct (check_product_sound _ _ _ _ _ _ accepted) as (_ & He & Hed & _).
    apply Rmult_le_pos; [now apply IZR_le|]. left. apply Rinv_0_lt_compat. now apply IZR_pos.
  Qed.

  Theorem law_mass_pos j i : 0 <= mass (law total W) j i.
  Proof.
    cbn. pose proof total_pos. destruct (check_product_sound _ _ _ _ _ _ accepted) as (_ & _ & _ & H0 & _).
    apply Rmult_le_pos; [apply IZR_le, H0|left; now apply Rinv_0_lt_compat].
  Qed.

  Theorem law_distribution j : (j < n)%nat -> distribution (law total W) j.
  Proof.
    intro Hj. split; [intro; apply law_mass_pos|]. pose proof total_pos.
    destruct (check_product_sound _ _ _ _ _ _ accepted) as (_ & _ & _ & _ & Hs & _).
    unfold Pr. cbn [outs law mass].
    rewrite (rsum_Zsum (seq 0 (length W)) (fun i => weight W i j)), (Hs j Hj). field. lra.
  Qed.

  Theorem law_pointwise c : In c cliques -> pointwise (common c) (eps en ed * distance c) (law total W).
  Proof.
    intros Hc j k [Hj Hk] i _. cbn [law mass]. pose proof total_pos as HT.
    destruct (check_product_sound _ _ _ _ _ _ accepted) as (_ & _ & _ & _ & _ & H).
    unfold Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|].
    now apply H.
  Qed.

  Theorem law_private c : In c cliques -> private (common c) (eps en ed * distance c) (law total W).
  Proof. intro Hc. apply pointwise_private. now apply law_pointwise. Qed.
End Accepted.

(** * Levels beside the answer: weights[output][level][answer], neighbours within windows of both *)
Record window := Window { from : nat; till : nat; lowest : nat; highest : nat }.

Definition block (w : window) (levels : list (list Z)) : list Z :=
  flat_map (fun level => firstn (till w - from w) (skipn (from w) level))
           (firstn (highest w + 1 - lowest w) (skipn (lowest w) levels)).

Definition check_states (levels answers : nat) (W : list (list (list Z))) (windows : list window) (en ed : Z) : bool :=
  (0 <=? en) && (0 <? ed)
  && forallb (fun row => (length row =? levels)%nat
       && forallb (fun level => (length level =? answers)%nat && forallb (Z.leb 0) level) row) W
  && forallb (Z.eqb TOTAL) (column_sums (levels * answers) (map (@concat Z) W))
  && (let p := ratio_below en ed 1 1 in
      forallb (fun row => forallb (fun w => keeps p (block w row)) windows) W).

Definition state_weight (W : list (list (list Z))) (i s j : nat) : Z := nth j (nth s (nth i W []) []) 0%Z.

Theorem check_states_sound levels answers W windows en ed :
  check_states levels answers W windows en ed = true ->
  forall w, In w windows -> forall i s t j k, (i < length W)%nat ->
  (lowest w <= s <= highest w)%nat -> (lowest w <= t <= highest w)%nat -> (s < levels)%nat -> (t < levels)%nat ->
  (from w <= j < till w)%nat -> (from w <= k < till w)%nat -> (j < answers)%nat -> (k < answers)%nat ->
  (0 <= state_weight W i s j)%Z /\
  IZR (state_weight W i s j) <= exp (eps en ed) * IZR (state_weight W i t k).
Proof.
  unfold check_states. rewrite !andb_true_iff. intros [[[[He Hed] Hrows] _] Hkeep].
  apply Z.leb_le in He. apply Z.ltb_lt in Hed. rewrite forallb_forall in Hrows, Hkeep.
  intros w Hw i s t j k Hi Hs Ht Hsl Htl Hj Hk Hja Hka.
  assert (Hin : In (nth i W []) W) by now apply nth_In.
  specialize (Hrows _ Hin). apply andb_true_iff in Hrows as [Hl Hrow]. apply Nat.eqb_eq in Hl.
  rewrite forallb_forall in Hrow.
  assert (Hlev : forall u, (u < levels)%nat -> length (nth u (nth i W []) []) = answers /\
                 forall x, In x (nth u (nth i W []) []) -> (0 <= x)%Z).
  { intros u Hu. specialize (Hrow (nth u (nth i W []) []) ltac:(apply nth_In; lia)).
    apply andb_true_iff in Hrow as [A B]. apply Nat.eqb_eq in A. split; [assumption|].
    rewrite forallb_forall in B. intros x Hx. apply Z.leb_le. auto. }
  specialize (Hkeep _ Hin). rewrite forallb_forall in Hkeep. specialize (Hkeep w Hw).
  destruct (ratio_below_sound en ed 1 1 He Hed ltac:(lia) ltac:(lia)) as [Hp Hexp].
  replace (IZR en / IZR ed * (1 / 1)) with (eps en ed) in Hexp by (unfold eps; unfold Rdiv; rewrite Rinv_1; ring).
  assert (Hblock : forall u c, (lowest w <= u <= highest w)%nat -> (u < levels)%nat -> (from w <= c < till w)%nat ->
            (c < answers)%nat -> In (state_weight W i u c) (block w (nth i W []))).
  { intros u c Hu Hul Hc Hca. unfold block. apply in_flat_map. exists (nth u (nth i W []) []). split.
    - apply in_slice; lia.
    - apply in_slice; [lia|]. destruct (Hlev u Hul). lia. }
  assert (Pos : forall u c, (u < levels)%nat -> (c < answers)%nat -> (0 <= state_weight W i u c)%Z).
  { intros u c Hu Hc. destruct (Hlev u Hu) as [A B]. apply B. apply nth_In. lia. }
  split; [auto|]. apply (ratio_kept (ratio_below en ed 1 1)); auto.
  apply (keeps_sound _ _ Hp Hkeep); apply Hblock; assumption.
Qed.
