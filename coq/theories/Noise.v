(** check_noise of trusted/certify.py: noise in whole weights on a clamped range, and the proof that what it accepts is
    private.

    The report for answer j is clamp (j + noise, 0, size), then renamed by any [target]. The weights of the noise are
    [end, floor, ..., floor, core, floor, ..., floor, end]. Inside the range two weights at most [reach] apart must keep
    the ratio; at the two ends the tail sums must.

    check_noise_sound  for answers at most [reach] apart and every set of clamped reports
    noise_pointwise    the law with its renaming is a mechanism that keeps the ratio for every output
    noise_distribution and its masses sum to one *)
From Coq Require Import ZArith Reals List Bool Lra Lia Psatz Arith.
From Inbounds Require Import Exp Privacy Matrix.
Import ListNotations.
Open Scope Z_scope.

(** * The checker *)
Definition pair_ok (p : Z) (pair : Z * Z) : bool := Z.shiftl (fst pair) EXP_BITS <=? p * snd pair.

Fixpoint zip_with (best : Z -> Z -> Z) (a b : list Z) : list Z :=
  match a, b with
  | x :: a', y :: b' => best x y :: zip_with best a' b'
  | _, _ => []
  end.

(** best over every [target] consecutive entries, by doubling *)
Fixpoint sliding (fuel : nat) (best : Z -> Z -> Z) (width target : nat) (table : list Z) : list Z :=
  match fuel with
  | O => table
  | S fuel' =>
      if (width <? target)%nat then
        let step := Nat.min width (target - width) in
        sliding fuel' best (width + step) target (zip_with best table (skipn step table))
      else table
  end.

Definition windows_ok (p : Z) (reach : nat) (table : list Z) : bool :=
  let target := (Nat.min reach (length table - 1) + 1)%nat in
  forallb (pair_ok p) (combine (sliding target Z.max 1 target table) (sliding target Z.min 1 target table)).

Fixpoint accumulate (acc : Z) (l : list Z) : list Z :=
  acc :: match l with [] => [] | x :: l' => accumulate (acc + x) l' end.

Definition side_ok (p fin floor : Z) (run reach : nat) (tail : list Z) : bool :=
  let skip := (run - reach)%nat in
  let sums := accumulate (fin + Z.of_nat skip * floor) (repeat floor (run - skip) ++ tail) in
  forallb (pair_ok p) (combine (skipn (Nat.min reach (length sums - 1)) sums) sums)
  && (if (0 <? skip)%nat then pair_ok p (fin + Z.of_nat reach * floor, fin) else true).

Definition check_noise (core : list Z) (floor fin : Z) (size reach : nat) (dn dd en ed : Z) : bool :=
  let K := Nat.div2 (length core) in
  let run := (size - 1 - K)%nat in
  let p := ratio_below en ed dn dd in
  (0 <=? en) && (0 <? ed) && (0 <=? dn) && (0 <? dd)
  && (length core =? K + K + 1)%nat && (S K <=? size)%nat
  && forallb (Z.leb 1) core && (1 <=? floor) && (1 <=? fin)
  && (Zsum core + 2 * Z.of_nat run * floor + 2 * fin =? TOTAL)
  && windows_ok p reach (repeat floor (Nat.min run reach) ++ core ++ repeat floor (Nat.min run reach))
  && side_ok p fin floor run reach (firstn (K + 1) core)
  && side_ok p fin floor run reach (firstn (K + 1) (rev_append core [])).

(** * What it means: noise number x of 0..2·size, reported as clamp(j + x - size, 0, size) *)
Definition table (core : list Z) (floor fin : Z) (run : nat) : list Z :=
  fin :: repeat floor run ++ core ++ repeat floor run ++ [fin].

Definition report (size j x : nat) : nat := Nat.min size (j + x - size).

(** * Soundness *)
Definition Q := 2 ^ EXP_BITS.
Lemma Q_pos : 0 < Q. Proof. reflexivity. Qed.

Lemma pair_ok_spec p a b : pair_ok p (a, b) = true -> a * Q <= p * b.
Proof. unfold pair_ok. cbn [fst snd]. rewrite Z.shiftl_mul_pow2 by easy. apply Z.leb_le. Qed.

(** ** Windows *)
Lemma zip_with_spec best a : forall b i, (i < length a)%nat -> (i < length b)%nat ->
  nth i (zip_with best a b) 0 = best (nth i a 0) (nth i b 0).
Proof. induction a as [|x a IH]; intros [|y b] [|i] Ha Hb; cbn in *; try lia. apply IH; lia. Qed.

Lemma zip_with_length best a : forall b, length (zip_with best a b) = Nat.min (length a) (length b).
Proof. induction a as [|x a IH]; intros [|y b]; cbn; auto. Qed.

Lemma nth_skipn' (l : list Z) : forall a i, nth i (skipn a l) 0 = nth (a + i) l 0.
Proof. induction l as [|x l IH]; intros [|a] i; cbn; auto. destruct i; reflexivity. Qed.

Section Sliding.
  Variables (best : Z -> Z -> Z) (ge : Z -> Z -> Prop).
  Hypothesis ge_refl : forall a, ge a a.
  Hypothesis best_l : forall a b c, ge a c -> ge (best a b) c.
  Hypothesis best_r : forall a b c, ge b c -> ge (best a b) c.
  Variable t0 : list Z.

  Definition covers (width : nat) (t : list Z) : Prop :=
    (length t + width = length t0 + 1)%nat /\
    forall i x, (i < length t)%nat -> (i <= x < i + width)%nat -> ge (nth i t 0) (nth x t0 0).

  Lemma sliding_covers fuel : forall width target t,
    (1 <= width <= target)%nat -> (target <= width + fuel)%nat -> (target <= length t0)%nat ->
    covers width t -> covers target (sliding fuel best width target t).
  Proof.
    induction fuel as [|fuel IH]; intros width target t Hw Hf Ht [Hlen Hcov]; cbn [sliding].
    - replace target with width by lia. now split.
    - destruct (Nat.ltb_spec width target) as [Hlt|Hge].
      2:{ replace target with width by lia. now split. }
      apply IH; try lia. set (step := Nat.min width (target - width)).
      assert (1 <= step <= width)%nat by lia.
      split.
      + rewrite zip_with_length, skipn_length. lia.
      + intros i x Hi Hx. rewrite zip_with_length, skipn_length in Hi.
        rewrite zip_with_spec by (rewrite ?skipn_length; lia). rewrite nth_skipn'.
        destruct (lt_dec x (i + width)) as [Hl|Hl].
        * apply best_l. apply Hcov; lia.
        * apply best_r. apply Hcov; lia.
  Qed.

  Lemma covers_one : covers 1 t0.
  Proof. split; [lia|]. intros i x Hi Hx. replace x with i by lia. apply ge_refl. Qed.
End Sliding.

Lemma forallb_combine {A} (f : A * A -> bool) (a b : list A) (d : A) : forallb f (combine a b) = true ->
  forall i, (i < length a)%nat -> (i < length b)%nat -> f (nth i a d, nth i b d) = true.
Proof.
  revert b. induction a as [|x a IH]; intros [|y b] H [|i] Ha Hb; cbn in *; try lia;
    apply andb_true_iff in H as [H1 H2]; auto. apply IH; auto; lia.
Qed.

Lemma windows_sound p reach t : 0 <= p -> (1 <= length t)%nat -> windows_ok p reach t = true ->
  forall x y, (x < length t)%nat -> (y < length t)%nat -> (x <= y + reach)%nat -> (y <= x + reach)%nat ->
  nth x t 0 * Q <= p * nth y t 0.
Proof.
  intros Hp Hl H x y Hx Hy Hxy Hyx. unfold windows_ok in H.
  set (target := (Nat.min reach (length t - 1) + 1)%nat) in *.
  assert (C1 : covers (fun a b => b <= a) t target (sliding target Z.max 1 target t)).
  { apply sliding_covers; try lia. apply covers_one. intros; lia. }
  assert (C2 : covers (fun a b => a <= b) t target (sliding target Z.min 1 target t)).
  { apply sliding_covers; try lia. apply covers_one. intros; lia. }
  destruct C1 as [L1 C1]. destruct C2 as [L2 C2].
  set (i := Nat.min (Nat.min x y) (length t - target)).
  assert (Hi : (i < length t + 1 - target)%nat) by lia.
  pose proof (forallb_combine _ _ _ 0 H i ltac:(lia) ltac:(lia)) as G. apply pair_ok_spec in G.
  specialize (C1 i x ltac:(lia) ltac:(lia)). specialize (C2 i y ltac:(lia) ltac:(lia)).
  cbv beta in C1, C2. pose proof Q_pos. nia.
Qed.

(** ** Sums *)
Lemma Zsum_app a b : Zsum (a ++ b) = Zsum a + Zsum b.
Proof. induction a; cbn; [reflexivity|]. fold (Zsum (a0 ++ b)) (Zsum a0). lia. Qed.

Lemma Zsum_repeat x n : Zsum (repeat x n) = Z.of_nat n * x.
Proof. induction n; cbn [repeat Zsum fold_right]; [reflexivity|]. fold (Zsum (repeat x n)). lia. Qed.

Lemma Zsum_rev l : Zsum (rev l) = Zsum l.
Proof. induction l; cbn; [reflexivity|]. rewrite Zsum_app. cbn. fold (Zsum l). lia. Qed.

Lemma Zsum_nonneg l : (forall x, In x l -> 0 <= x) -> 0 <= Zsum l.
Proof. induction l; intros H; cbn; [lia|]. fold (Zsum l). pose proof (H a (or_introl eq_refl)).
  assert (0 <= Zsum l) by (apply IHl; intros; apply H; now right). lia. Qed.

Lemma firstn_In {A} (l : list A) : forall n x, In x (firstn n l) -> In x l.
Proof. induction l; intros [|n] x H; cbn in *; try easy. destruct H; auto. right. eauto. Qed.

Lemma prefix_mono l : (forall x, In x l -> 0 <= x) -> forall m m', (m <= m')%nat ->
  Zsum (firstn m l) <= Zsum (firstn m' l).
Proof.
  intros H m m' Hm. revert m m' Hm H. induction l as [|x l IH]; intros [|m] [|m'] Hm H; cbn; try lia.
  - fold (Zsum (firstn m' l)). pose proof (H x (or_introl eq_refl)).
    assert (0 <= Zsum (firstn m' l)) by (apply Zsum_nonneg; intros y Hy; apply H; right; now apply firstn_In in Hy). lia.
  - fold (Zsum (firstn m l)) (Zsum (firstn m' l)).
    assert (Zsum (firstn m l) <= Zsum (firstn m' l)) by (apply IH; [lia|intros; apply H; now right]). lia.
Qed.

Lemma accumulate_length l : forall acc, length (accumulate acc l) = S (length l).
Proof. induction l; intro; cbn; auto. Qed.

Lemma accumulate_nth l : forall acc x, (x <= length l)%nat -> nth x (accumulate acc l) 0 = acc + Zsum (firstn x l).
Proof.
  induction l as [|y l IH]; intros acc [|x] Hx; cbn in *; try lia.
  rewrite IH by lia. fold (Zsum (firstn x l)). lia.
Qed.

Definition prefix (fin floor : Z) (run : nat) (tail : list Z) (m : nat) : Z :=
  fin + Zsum (firstn m (repeat floor run ++ tail)).

Lemma side_sound p fin floor run reach tail : Q <= p -> 1 <= fin -> 1 <= floor ->
  (forall x, In x tail -> 1 <= x) ->
  side_ok p fin floor run reach tail = true ->
  forall m m', (m <= run + length tail)%nat -> (m' <= run + length tail)%nat -> (m' <= m + reach)%nat ->
  prefix fin floor run tail m' * Q <= p * prefix fin floor run tail m.
Proof.
  intros Hp Hfin Hfloor Htail H m m' Hm Hm' Hr. pose proof Q_pos as HQ.
  set (P := prefix fin floor run tail).
  assert (Hin : forall x, In x (repeat floor run ++ tail) -> 0 <= x).
  { intros x Hx. apply in_app_or in Hx as [Hx|Hx]; [apply repeat_spec in Hx; lia|specialize (Htail x Hx); lia]. }
  assert (Pmono : forall a b, (a <= b)%nat -> P a <= P b).
  { intros a b Hab. unfold P, prefix. pose proof (prefix_mono _ Hin a b Hab). lia. }
  assert (Ppos : forall a, 0 <= P a).
  { intro a. pose proof (Pmono 0%nat a ltac:(lia)).
    assert (P 0%nat = fin) by (unfold P, prefix; cbn [firstn Zsum fold_right]; lia). lia. }
  unfold side_ok in H. apply andb_true_iff in H as [H1 H2].
  set (skip := (run - reach)%nat) in *.
  set (rest := repeat floor (run - skip) ++ tail) in *.
  set (sums := accumulate (fin + Z.of_nat skip * floor) rest) in *.
  assert (Lrest : length rest = (run - skip + length tail)%nat)
    by (unfold rest; rewrite app_length, repeat_length; lia).
  assert (Lsums : length sums = S (length rest)) by apply accumulate_length.
  assert (Hsplit : repeat floor run ++ tail = repeat floor skip ++ rest).
  { unfold rest. rewrite app_assoc, <- repeat_app. do 2 f_equal. lia. }
  assert (Hsums : forall x, (x <= length rest)%nat -> nth x sums 0 = P (skip + x)%nat).
  { intros x Hx. unfold sums. rewrite accumulate_nth by assumption. unfold P, prefix. rewrite Hsplit.
    replace (skip + x)%nat with (length (repeat floor skip) + x)%nat by (rewrite repeat_length; lia).
    rewrite firstn_app_2, Zsum_app, Zsum_repeat. lia. }
  destruct (le_lt_dec skip m) as [Hs|Hs].
  - set (N := length rest). set (D := Nat.min reach N).
    assert (HD : Nat.min reach (length sums - 1) = D) by (rewrite Lsums; unfold D, N; lia). rewrite HD in H1.
    set (x0 := Nat.min (m - skip) (N - D)).
    pose proof (forallb_combine _ _ _ 0 H1 x0) as G.
    assert (HDN : (D <= N)%nat) by (unfold D; lia).
    assert (HxN : (x0 + D <= N)%nat) by (unfold x0; lia).
    rewrite skipn_length, Lsums in G. fold N in G.
    specialize (G ltac:(lia) ltac:(lia)). apply pair_ok_spec in G.
    rewrite nth_skipn', !Hsums in G by (fold N; lia).
    assert (HN : N = (run - skip + length tail)%nat) by assumption.
    assert (A1 : P m' <= P (skip + (D + x0))%nat) by (apply Pmono; unfold x0, D in *; lia).
    assert (A2 : P (skip + x0)%nat <= P m) by (apply Pmono; unfold x0; lia).
    clear - A1 A2 G HQ Hp. nia.
  - destruct (Nat.ltb_spec 0 skip) as [_|?]; [|lia]. apply pair_ok_spec in H2.
    assert (Hlin : forall a, (a <= run)%nat -> P a = fin + Z.of_nat a * floor).
    { intros a Ha. unfold P, prefix. rewrite firstn_app, repeat_length.
      replace (a - run)%nat with 0%nat by lia. cbn [firstn]. rewrite app_nil_r.
      replace run with (a + (run - a))%nat by lia. rewrite repeat_app.
      rewrite <- (repeat_length floor a) at 1. rewrite firstn_app, Nat.sub_diag, firstn_all. cbn [firstn].
      rewrite app_nil_r, Zsum_repeat. reflexivity. }
    rewrite !Hlin by lia.
    assert (E1 : Z.of_nat m' <= Z.of_nat m + Z.of_nat reach) by lia.
    assert (E2 : (fin + Z.of_nat m' * floor) * Q <= (fin + Z.of_nat reach * floor) * Q + Z.of_nat m * floor * Q).
    { replace ((fin + Z.of_nat reach * floor) * Q + Z.of_nat m * floor * Q)
        with ((fin + (Z.of_nat m + Z.of_nat reach) * floor) * Q) by ring.
      apply Z.mul_le_mono_nonneg_r; [lia|]. apply Z.add_le_mono_l. apply Z.mul_le_mono_nonneg_r; lia. }
    assert (E3 : Z.of_nat m * floor * Q <= Z.of_nat m * floor * p)
      by (apply Z.mul_le_mono_nonneg_l; [apply Z.mul_nonneg_nonneg; lia|assumption]).
    clear - H2 E2 E3. replace (p * (fin + Z.of_nat m * floor)) with (p * fin + Z.of_nat m * floor * p) by ring.
    lia.
Qed.

(** ** The table of a noise law *)
Lemma nth_repeat_lt (x : Z) n i : (i < n)%nat -> nth i (repeat x n) 0 = x.
Proof. revert i. induction n; intros [|i] H; cbn; try lia. apply IHn. lia. Qed.

Section Interior.
  Variables (p floor : Z) (run reach : nat) (core : list Z).
  Let pad := Nat.min run reach.
  Let small := repeat floor pad ++ core ++ repeat floor pad.
  Let inner := repeat floor run ++ core ++ repeat floor run.
  Hypothesis nonempty : (1 <= length core)%nat.
  Hypothesis p_nonneg : 0 <= p.
  Hypothesis Qp : Q <= p.
  Hypothesis floor_pos : 1 <= floor.
  Hypothesis ok : windows_ok p reach small = true.

  Lemma inner_length : length inner = (run + length core + run)%nat.
  Proof. unfold inner. rewrite !app_length, !repeat_length. lia. Qed.

  Lemma small_length : length small = (pad + length core + pad)%nat.
  Proof. unfold small. rewrite !app_length, !repeat_length. lia. Qed.

  Lemma inner_outside x : (x < length inner)%nat -> (x < run \/ run + length core <= x)%nat -> nth x inner 0 = floor.
  Proof.
    rewrite inner_length. intros Hx [H|H]; unfold inner.
    - rewrite app_nth1 by (rewrite repeat_length; lia). apply nth_repeat_lt. lia.
    - rewrite app_nth2 by (rewrite repeat_length; lia). rewrite repeat_length.
      rewrite app_nth2 by lia. apply nth_repeat_lt. lia.
  Qed.

  Lemma inner_small z : (z < length small)%nat -> nth (run - pad + z) inner 0 = nth z small 0.
  Proof.
    rewrite small_length. intro Hz.
    assert (E : inner = repeat floor (run - pad) ++ small ++ repeat floor (run - pad)).
    { assert (E1 : repeat floor run = repeat floor (run - pad) ++ repeat floor pad)
        by (rewrite <- repeat_app; f_equal; unfold pad; lia).
      assert (E2 : repeat floor run = repeat floor pad ++ repeat floor (run - pad))
        by (rewrite <- repeat_app; f_equal; unfold pad; lia).
      unfold inner, small. rewrite E1 at 1. rewrite E2. rewrite <- !app_assoc. reflexivity. }
    rewrite E. rewrite app_nth2 by (rewrite repeat_length; lia). rewrite repeat_length.
    replace (run - pad + z - (run - pad))%nat with z by lia.
    rewrite app_nth1 by (rewrite small_length; lia). reflexivity.
  Qed.

  Lemma inner_sound x y : (x < length inner)%nat -> (y < length inner)%nat ->
    (x <= y + reach)%nat -> (y <= x + reach)%nat -> nth x inner 0 * Q <= p * nth y inner 0.
  Proof.
    intros Hx Hy Hxy Hyx. rewrite inner_length in *.
    set (lo := (run - pad)%nat). set (hi := (run + length core + pad)%nat).
    assert (D : (lo <= x < hi /\ lo <= y < hi)%nat \/
                ((x < run \/ run + length core <= x) /\ (y < run \/ run + length core <= y))%nat)
      by (unfold lo, hi, pad; lia).
    destruct D as [[Dx Dy]|[Dx Dy]].
    - pose proof small_length as L. unfold lo, hi in *.
      replace x with (run - pad + (x - (run - pad)))%nat by lia.
      replace y with (run - pad + (y - (run - pad)))%nat by lia.
      rewrite !inner_small by lia.
      apply (windows_sound p reach small); lia || assumption.
    - rewrite !inner_outside by (rewrite ?inner_length; lia). nia.
  Qed.
End Interior.

(** ** From weights to probabilities *)
Lemma rev_repeat' (x : Z) n : rev (repeat x n) = repeat x n.
Proof.
  induction n; [reflexivity|]. cbn [repeat rev]. rewrite IHn.
  change [x] with (repeat x 1). rewrite <- repeat_app, Nat.add_1_r. reflexivity.
Qed.

Lemma seq_plus a : forall s n, seq (a + s) n = map (fun i => (a + i)%nat) (seq s n).
Proof.
  intros s n. revert s. induction n as [|n IH]; intro s; cbn; [reflexivity|].
  f_equal. rewrite <- IH. f_equal. lia.
Qed.

Open Scope R_scope.

Lemma rsum_const {O} (l : list O) c (f : O -> R) (b : bool) : (forall o, In o l -> c o = b) ->
  rsum l (fun o => if c o then f o else 0) = if b then rsum l f else 0.
Proof.
  intros H. destruct b.
  - apply rsum_ext. intros o Ho. now rewrite H.
  - transitivity (rsum l (fun _ => 0)).
    + apply rsum_ext. intros o Ho. now rewrite H.
    + clear. induction l; cbn; [reflexivity|]. rewrite IHl. ring.
Qed.

Lemma rsum_nth (L : list Z) (T : R) : forall n a, (a + n <= length L)%nat ->
  rsum (seq a n) (fun x => IZR (nth x L 0%Z) / T) = IZR (Zsum (firstn n (skipn a L))) / T.
Proof.
  induction n as [|n IH]; intros a H.
  - cbn. unfold Rdiv. ring.
  - cbn [seq rsum]. rewrite IH by lia.
    assert (E : firstn (S n) (skipn a L) = nth a L 0%Z :: firstn n (skipn (S a) L)).
    { clear IH. revert a H. induction L as [|x L IHL]; intros [|a] H; cbn in H; try lia; [reflexivity|].
      cbn [skipn nth]. apply IHL. lia. }
    rewrite E. cbn [Zsum fold_right]. fold (Zsum (firstn n (skipn (S a) L))). rewrite plus_IZR. unfold Rdiv. ring.
Qed.

Definition PrNoise (L : list Z) (size j : nat) (S : nat -> bool) : R :=
  rsum (seq 0 (2 * size + 1)) (fun x => if S (report size j x) then IZR (nth x L 0%Z) / IZR TOTAL else 0).

Lemma PrNoise_split (L : list Z) (size j : nat) S : (1 <= size)%nat -> (j <= size)%nat ->
  length L = (2 * size + 1)%nat ->
  PrNoise L size j S =
    (if S 0%nat then IZR (Zsum (firstn (size - j + 1) L)) / IZR TOTAL else 0)
    + (rsum (seq 1 (size - 1)) (fun i => if S i then IZR (nth (size - j + i) L 0%Z) / IZR TOTAL else 0)
    + (if S size then IZR (Zsum (skipn (2 * size - j) L)) / IZR TOTAL else 0)).
Proof.
  intros Hs Hj HL. unfold PrNoise.
  replace (2 * size + 1)%nat with ((size - j + 1) + ((size - 1) + (j + 1)))%nat by lia.
  rewrite (seq_app (size - j + 1)), (seq_app (size - 1) (j + 1)), !rsum_app. f_equal; [|f_equal].
  - rewrite (rsum_const _ (fun x => S (report size j x)) _ (S 0%nat)).
    + rewrite rsum_nth by lia. reflexivity.
    + intros x Hx. apply in_seq in Hx. f_equal. unfold report. lia.
  - replace (0 + (size - j + 1))%nat with (size - j + 1)%nat by lia.
    rewrite seq_plus, rsum_map. apply rsum_ext. intros i Hi. apply in_seq in Hi.
    replace (report size j (size - j + i)) with i by (unfold report; lia). reflexivity.
  - rewrite (rsum_const _ (fun x => S (report size j x)) _ (S size)).
    + rewrite rsum_nth by lia.
      replace (0 + (size - j + 1) + (size - 1))%nat with (2 * size - j)%nat by lia.
      rewrite firstn_all2 by (rewrite skipn_length; lia). reflexivity.
    + intros x Hx. apply in_seq in Hx. f_equal. unfold report. lia.
Qed.

Lemma TOTAL_pos : 0 < IZR TOTAL.
Proof. apply IZR_pos. reflexivity. Qed.

Lemma scaled (p a b : Z) (e : R) : (0 <= b)%Z -> IZR p / 2 ^ 128 <= exp e -> (a * Q <= p * b)%Z ->
  IZR a / IZR TOTAL <= exp e * (IZR b / IZR TOTAL).
Proof.
  intros Hb Hp H. pose proof TOTAL_pos as HT. unfold Rdiv. rewrite <- Rmult_assoc.
  apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|]. now apply (ratio_kept p).
Qed.

Definition noise_table (core : list Z) (floor fin : Z) (size : nat) : list Z :=
  table core floor fin (size - 1 - Nat.div2 (length core)).

Theorem check_noise_sound (core : list Z) (floor fin : Z) (size reach : nat) (dn dd en ed : Z) :
  check_noise core floor fin size reach dn dd en ed = true ->
  let L := noise_table core floor fin size in
  length L = (2 * size + 1)%nat /\ (forall x, In x L -> (1 <= x)%Z) /\ Zsum L = TOTAL /\
  forall j k, (j <= size)%nat -> (k <= size)%nat -> (j <= k + reach)%nat -> (k <= j + reach)%nat ->
  forall S, PrNoise L size j S <= exp (eps en ed * (IZR dn / IZR dd)) * PrNoise L size k S.
Proof.
  unfold check_noise. rewrite <- rev_alt. set (K := Nat.div2 (length core)). set (run := (size - 1 - K)%nat).
  rewrite !andb_true_iff.
  intros [[[[[[[[[[[[He Hed] Hdn] Hdd] Hlen] HK] Hcore] Hfloor] Hfin] Hsum] Hwin] Hleft] Hright].
  apply Z.leb_le in He, Hdn, Hfloor, Hfin. apply Z.ltb_lt in Hed, Hdd.
  apply Nat.eqb_eq in Hlen. apply Nat.leb_le in HK. apply Z.eqb_eq in Hsum. rewrite forallb_forall in Hcore.
  destruct (ratio_below_sound en ed dn dd He Hed Hdn Hdd) as [Hp Hexp].
  fold (eps en ed) in Hexp. set (p := ratio_below en ed dn dd) in *. clearbody p.
  assert (Hc : forall x, In x core -> (1 <= x)%Z) by (intros x Hx; apply Z.leb_le; auto).
  assert (Hrun : (run + K + 1 = size)%nat) by (unfold run; lia).
  unfold noise_table. fold K. fold run. set (L := table core floor fin run).
  assert (LL : length L = (2 * size + 1)%nat).
  { unfold L, table. cbn [length]. rewrite !app_length, !repeat_length. cbn [length]. lia. }
  assert (LP : forall x, In x L -> (1 <= x)%Z).
  { unfold L, table. intros x [<-|Hx]; [assumption|].
    rewrite !in_app_iff in Hx. destruct Hx as [Hx|[Hx|[Hx|[<-|[]]]]]; auto; apply repeat_spec in Hx; lia. }
  assert (LS : Zsum L = TOTAL).
  { rewrite <- Hsum. unfold L, table. cbn [Zsum fold_right].
    fold (Zsum (repeat floor run ++ core ++ repeat floor run ++ [fin])).
    rewrite !Zsum_app, !Zsum_repeat. cbn [Zsum fold_right]. lia. }
  (* the inside *)
  set (inner := repeat floor run ++ core ++ repeat floor run).
  set (small := repeat floor (Nat.min run reach) ++ core ++ repeat floor (Nat.min run reach)) in *.
  assert (Lsmall : length small = (Nat.min run reach + length core + Nat.min run reach)%nat)
    by (unfold small; rewrite !app_length, !repeat_length; lia).
  assert (HQp : (Q <= p)%Z).
  { pose proof (windows_sound p reach small Hp ltac:(lia) Hwin 0 0 ltac:(lia) ltac:(lia) ltac:(lia) ltac:(lia)) as G.
    assert (1 <= nth 0 small 0)%Z; [|nia].
    assert (I : In (nth 0 small 0%Z) small) by (apply nth_In; lia).
    unfold small in I at 2. rewrite !in_app_iff in I.
    destruct I as [I|[I|I]]; auto; apply repeat_spec in I; lia. }
  assert (Linner : length inner = (2 * size - 1)%nat)
    by (unfold inner; rewrite !app_length, !repeat_length; lia).
  assert (Inner : forall x, (1 <= x < 2 * size)%nat -> nth x L 0%Z = nth (x - 1) inner 0%Z).
  { intros x Hx. destruct x as [|x]; [lia|]. unfold L, table. cbn [nth]. rewrite !app_assoc.
    rewrite <- (app_assoc (repeat floor run)). fold inner. rewrite app_nth1 by lia. f_equal. lia. }
  assert (Inside : forall x y, (1 <= x < 2 * size)%nat -> (1 <= y < 2 * size)%nat ->
            (x <= y + reach)%nat -> (y <= x + reach)%nat -> (nth x L 0 * Q <= p * nth y L 0)%Z).
  { intros x y Hx Hy Hxy Hyx. rewrite !Inner by assumption.
    apply (inner_sound p floor run reach core); fold inner; lia || assumption. }
  (* the two ends *)
  assert (Prefix : forall c rest m, (length c = K + K + 1)%nat -> (m <= size)%nat ->
            Zsum (firstn (m + 1) (fin :: repeat floor run ++ c ++ rest)) = prefix fin floor run (firstn (K + 1) c) m).
  { intros c rest m Hcl Hm. rewrite Nat.add_1_r. cbn [firstn Zsum fold_right]. unfold prefix. f_equal.
    fold (Zsum (firstn m (repeat floor run ++ c ++ rest))). f_equal.
    rewrite !firstn_app, repeat_length, Hcl. f_equal. rewrite firstn_firstn.
    replace (m - run - (K + K + 1))%nat with 0%nat by lia. rewrite app_nil_r. f_equal. lia. }
  assert (Lower : forall j k, (j <= size)%nat -> (k <= size)%nat -> (k <= j + reach)%nat ->
            (Zsum (firstn (size - j + 1) L) * Q <= p * Zsum (firstn (size - k + 1) L))%Z).
  { intros j k Hj Hk Hkj. unfold L, table. rewrite !Prefix by lia.
    apply side_sound with (reach := reach); try assumption; try (rewrite firstn_length; lia); try lia.
    intros x Hx. apply Hc. eapply firstn_In. exact Hx. }
  assert (Upper : forall j k, (j <= size)%nat -> (k <= size)%nat -> (j <= k + reach)%nat ->
            (Zsum (skipn (2 * size - j) L) * Q <= p * Zsum (skipn (2 * size - k) L))%Z).
  { intros j k Hj Hk Hjk.
    assert (R : forall m, (m <= size)%nat -> Zsum (skipn (2 * size - m) L) = prefix fin floor run (firstn (K + 1) (rev core)) m).
    { intros m Hm. rewrite <- (Prefix (rev core) (repeat floor run ++ [fin])) by (rewrite ?rev_length; lia).
      assert (ER : fin :: repeat floor run ++ rev core ++ repeat floor run ++ [fin] = rev L).
      { unfold L, table. cbn [rev]. rewrite !rev_app_distr. cbn [rev app]. rewrite rev_repeat'.
        rewrite <- !app_assoc. reflexivity. }
      rewrite ER, firstn_rev, Zsum_rev. do 2 f_equal. lia. }
    rewrite !R by lia.
    apply side_sound with (reach := reach); try assumption; try (rewrite firstn_length, rev_length; lia); try lia.
    intros x Hx. apply Hc. apply in_rev. eapply firstn_In. exact Hx. }
  assert (Zpos : forall a, (0 <= Zsum (skipn a L))%Z).
  { intro a. apply Zsum_nonneg. intros x Hx. assert (In x L); [|specialize (LP x H); lia].
    rewrite <- (firstn_skipn a L). apply in_or_app. now right. }
  assert (Zpos' : forall a, (0 <= Zsum (firstn a L))%Z).
  { intro a. apply Zsum_nonneg. intros x Hx. apply firstn_In in Hx. specialize (LP x Hx). lia. }
  repeat split; try assumption.
  intros j k Hj Hk Hjk Hkj S.
  rewrite !PrNoise_split by lia. rewrite !Rmult_plus_distr_l. repeat apply Rplus_le_compat.
  - destruct (S 0%nat); [|lra]. apply (scaled p); auto.
  - rewrite <- rsum_scale. apply rsum_le. intros i Hi. apply in_seq in Hi.
    destruct (S i); [|lra]. apply (scaled p); auto.
    + assert (In (nth (size - k + i) L 0%Z) L) by (apply nth_In; lia). specialize (LP _ H). lia.
    + apply Inside; lia.
  - destruct (S size); [|lra]. apply (scaled p); auto.
Qed.

(** * The law with its renaming, as a mechanism *)
Definition noise_law (L : list Z) (size : nat) (target : nat -> nat) (outputs : nat) : mechanism nat nat :=
  Mechanism (seq 0 outputs) (fun j i => PrNoise L size j (fun o => Nat.eqb (target o) i)).

Lemma rsum_swap {A B} (l : list A) (l' : list B) (f : A -> B -> R) :
  rsum l (fun a => rsum l' (f a)) = rsum l' (fun b => rsum l (fun a => f a b)).
Proof.
  induction l as [|a l IH]; cbn [rsum].
  - induction l' as [|b l' IH']; cbn [rsum]; [reflexivity|]. rewrite <- IH'. ring.
  - rewrite IH. clear IH. induction l' as [|b l' IH']; cbn [rsum]; [ring|]. rewrite <- IH'. ring.
Qed.

Lemma rsum_single (n k : nat) (x : R) : (k < n)%nat ->
  forall s, (s <= k)%nat -> (k < s + n)%nat -> rsum (seq s n) (fun i => if Nat.eqb k i then x else 0) = x.
Proof.
  intros _. induction n as [|n IH]; intros s Hs Hk; [lia|]. cbn [seq rsum].
  destruct (Nat.eqb_spec k s) as [->|Hne].
  - assert (Z0 : forall m a, (s < a)%nat -> rsum (seq a m) (fun i => if Nat.eqb s i then x else 0) = 0).
    { induction m as [|m IHm]; intros a Ha; cbn [seq rsum]; [reflexivity|].
      destruct (Nat.eqb_spec s a); [lia|]. rewrite IHm by lia. ring. }
    rewrite Z0 by lia. ring.
  - rewrite IH by lia. ring.
Qed.

Section NoiseLaw.
  Variables (core : list Z) (floor fin : Z) (size reach : nat) (dn dd en ed : Z).
  Variables (target : nat -> nat) (outputs : nat).
  Hypothesis accepted : check_noise core floor fin size reach dn dd en ed = true.
  Let L := noise_table core floor fin size.
  Let m := noise_law L size target outputs.

  Definition apart (j k : nat) : Prop := (j <= size /\ k <= size /\ j <= k + reach /\ k <= j + reach)%nat.

  Theorem noise_pointwise : pointwise apart (eps en ed * (IZR dn / IZR dd)) m.
  Proof.
    intros j k (Hj & Hk & A & B) i _. cbn [m noise_law mass].
    destruct (check_noise_sound _ _ _ _ _ _ _ _ _ accepted) as (_ & _ & _ & G). now apply G.
  Qed.

  Lemma noise_mass_pos j i : 0 <= mass m j i.
  Proof.
    destruct (check_noise_sound _ _ _ _ _ _ _ _ _ accepted) as (HL & HP & _ & _).
    cbn [m noise_law mass]. unfold PrNoise. fold L in HL, HP. pose proof TOTAL_pos as HT.
    apply rsum_nonneg. intros x Hx. apply in_seq in Hx. destruct (Nat.eqb _ _); [|lra].
    assert (In (nth x L 0%Z) L) by (apply nth_In; lia). specialize (HP _ H).
    apply Rmult_le_pos; [apply IZR_le; lia|left; now apply Rinv_0_lt_compat].
  Qed.

  Theorem noise_distribution j : (forall o, (o <= size)%nat -> (target o < outputs)%nat) -> distribution m j.
  Proof.
    intros Ht. split; [apply noise_mass_pos|].
    destruct (check_noise_sound _ _ _ _ _ _ _ _ _ accepted) as (HL & _ & HS & _). fold L in HL, HS.
    unfold Pr. cbn [m noise_law mass outs]. unfold PrNoise. rewrite rsum_swap.
    rewrite (rsum_ext _ _ (fun x => IZR (nth x L 0%Z) / IZR TOTAL)).
    - rewrite rsum_nth by lia. cbn [skipn]. rewrite firstn_all2 by lia. rewrite HS. pose proof TOTAL_pos. field. lra.
    - intros x _. assert (report size j x <= size)%nat by (unfold report; lia). specialize (Ht _ H).
      apply (rsum_single outputs); lia.
  Qed.
End NoiseLaw.
