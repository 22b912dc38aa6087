(** check_scores of trusted/permute_flip.py and its sampler, and the proof that what it accepts is private.

    T[0] = 2^62 > T[1] >= ... >= T[L] >= 1; a level beyond the table counts as L. An output of length 0 has the level 0, of
    another the level 1 + stride * (length - 1) + the first numbers of [deeper], as many as the depth, the last repeated.
    Up to MOST_SCORED outputs the bounds are those of [levels_pairs], as fractions of whole numbers; beyond, products of
    steps.

    stays_fraction, moves_fraction   the fractions are the bounds
    index_words                      of the 2^62 words, each of s hands has 2^62/s, up to one more or less
    halves                           the sampler's arithmetic in two halves is the product's quotient
    scores_private                   for neighbouring lengths and every set of reports, as the sampler draws them *)
From Coq Require Import ZArith Reals List Bool Lra Lia Psatz Arith.
From Inbounds Require Import Exp Privacy Matrix Integral Scores Tight Depth.
Import ListNotations.
Open Scope Z_scope.

(** * The checker *)
Definition MOST_OUTPUTS := 2 ^ 24.
Definition MOST_SCORED := 2 ^ 12.
Definition MOST_DEEPER := 2 ^ 13.

Fixpoint falling (t : list Z) : bool :=
  match t with
  | a :: ((b :: _) as rest) => (b <=? a) && falling rest
  | [a] => 1 <=? a
  | [] => false
  end.

Definition quotient_above (a b : Z) : Z := - (- a / b).

(** The largest T[i] / T[i + by] over i >= 1, times 2^62 and rounded up. *)
Definition largest_step (table : list Z) (by_ : nat) : Z :=
  let tail := tl table in
  let shifted := skipn by_ tail ++ repeat (last table 0) (Nat.min by_ (length tail)) in
  fold_right Z.max 0 (map (fun ab => quotient_above (fst ab * TOTAL) (snd ab)) (combine tail shifted)).

Definition table_at (table : list Z) (l : nat) : Z := nth (Nat.min l (length table - 1)) table 0.

Definition power (a : Z) (n : nat) : Z := a ^ Z.of_nat n.

(** int (1-u) (1-zu)^c du * X^2 b^c (c+1) (c+2) with z = X/b *)
Definition flat_integral (X b : Z) (c : nat) : Z :=
  X * (Z.of_nat c + 2) * power b (c + 1) - power b (c + 2) + power (b - X) (c + 2).

(** int (1-xu) (1-yu)^c du * B X r^c (c+1) (c+2) with x = X/B, y = X/r *)
Definition moved_integral (X r : Z) (c : nat) : Z :=
  (TOTAL - r) * (Z.of_nat c + 2) * (power r (c + 1) - power (r - X) (c + 1))
  + (Z.of_nat c + 1) * (power r (c + 2) - power (r - X) (c + 2)).

(** own * I(x / others) / I(x), or own * others for wide ranges. *)
Definition stays_ratio (width own oth X : Z) : Z * Z :=
  if MOST_SCORED <? width then (own * oth, TOTAL * TOTAL)
  else let c := Z.to_nat (width - 1) in
       (own * flat_integral X oth c * power TOTAL c, TOTAL * power oth c * flat_integral X TOTAL c).

(** K / (x * I(x)), or the square. *)
Definition moves_ratio (width r X : Z) : Z * Z :=
  if MOST_SCORED <? width then (r * r, TOTAL * TOTAL)
  else let c := Z.to_nat (width - 1) in
       (moved_integral X r c * power TOTAL c, power r c * flat_integral X TOTAL c).

Fixpoint depth_ratios (table : list Z) (stride : nat) (width : Z) (level : nat) (deeper : list nat) : list (Z * Z) :=
  match deeper with
  | [] => []
  | more :: rest =>
      let Q := largest_step table (stride + more) in
      let S := largest_step table (stride - more) in
      stays_ratio width Q S (table_at table (level + more)) :: stays_ratio width S Q (table_at table level)
      :: depth_ratios table stride width (level + more) rest
  end.

(** The answer stays, it is another, the depth rises or falls. *)
Definition ratio_bounds (table : list Z) (stride : nat) (deeper : list nat) (width : Z) : list (Z * Z) :=
  let X := nth 1 table 0 in
  let r := Z.max (largest_step table stride) (quotient_above (TOTAL * TOTAL) X) in
  stays_ratio width r r X :: moves_ratio width r X :: depth_ratios table stride width 1 deeper.

Definition check_scores (table : list Z) (stride : nat) (deeper : list nat) (width en ed : Z) : bool :=
  (0 <=? en) && (0 <? ed) && (2 <=? length table)%nat
  && (nth 0 table 0 =? TOTAL) && (nth 1 table 0 <? TOTAL) && falling table
  && (1 <=? stride)%nat && (Z.of_nat stride <? MOST_OUTPUTS) && forallb (fun more => (more <=? stride)%nat) deeper
  && (1 <=? width) && (width <? MOST_OUTPUTS)
  && ((MOST_SCORED <? width) || (width * Z.of_nat (length deeper) <=? MOST_DEEPER))
  && (let p := ratio_below en ed 1 1 in
      let m := width + 1 in
      forallb (fun hl => Z.shiftl (fst hl * (TOTAL + m)) EXP_BITS <=? p * (snd hl * (TOTAL - m)))
              (ratio_bounds table stride deeper width)).

(** * The sampler *)

(** The index among s hands that a word chooses. *)
Definition index (s word : Z) : Z := word * s / TOTAL.

(** The words that choose index h are those from [first_word s h] up to [first_word s (h + 1)]. *)
Definition first_word (s h : Z) : Z := quotient_above (h * TOTAL) s.
Definition words (s h : Z) : Z := first_word s (h + 1) - first_word s h.

Lemma quotient_above_spec a b : 0 < b -> a <= b * quotient_above a b < a + b.
Proof.
  intro Hb. unfold quotient_above. pose proof (Z.mul_div_le (- a) b Hb). pose proof (Z.mul_succ_div_gt (- a) b Hb). lia.
Qed.

Theorem index_words s h word : 0 < s -> (index s word = h <-> first_word s h <= word < first_word s (h + 1)).
Proof.
  intros Hs. assert (HT : 0 < TOTAL) by reflexivity. unfold index, first_word.
  pose proof (quotient_above_spec (h * TOTAL) s Hs) as A. pose proof (quotient_above_spec ((h + 1) * TOTAL) s Hs) as B.
  set (a := quotient_above (h * TOTAL) s) in *. set (b := quotient_above ((h + 1) * TOTAL) s) in *. clearbody a b. split.
  - intros <-. pose proof (Z.mul_div_le (word * s) TOTAL HT). pose proof (Z.mul_succ_div_gt (word * s) TOTAL HT).
    set (q := word * s / TOTAL) in *. clearbody q. split; nia.
  - intros [L U]. symmetry. apply Z.div_unique with (word * s - TOTAL * h); [|ring]. left. nia.
Qed.

(** All words are among them: the first index begins at 0, the last ends at 2^62. *)
Lemma words_range s : 0 < s -> first_word s 0 = 0 /\ first_word s s = TOTAL.
Proof.
  intro Hs. unfold first_word, quotient_above. rewrite Z.mul_0_l. split; [now rewrite Z.div_0_l by lia|].
  replace (- (s * TOTAL)) with (- TOTAL * s) by ring. rewrite Z.div_mul by lia. ring.
Qed.

Lemma words_near s h : 0 < s -> TOTAL - s < s * words s h < TOTAL + s.
Proof.
  intros Hs. unfold words, first_word.
  pose proof (quotient_above_spec (h * TOTAL) s Hs). pose proof (quotient_above_spec ((h + 1) * TOTAL) s Hs). lia.
Qed.

(** word * s / 2^62 in two halves of 31 bits. *)
Theorem halves word s : 0 <= word -> 0 <= s ->
  index s word = ((word / 2 ^ 31) * s + (word mod 2 ^ 31) * s / 2 ^ 31) / 2 ^ 31.
Proof.
  intros Hw Hs. unfold index, TOTAL. change (2 ^ 62) with (2 ^ 31 * 2 ^ 31). rewrite <- Z.div_div by lia. f_equal.
  rewrite (Z.div_mod word (2 ^ 31)) at 1 by lia.
  replace ((2 ^ 31 * (word / 2 ^ 31) + word mod 2 ^ 31) * s)
    with (word / 2 ^ 31 * s * 2 ^ 31 + (word mod 2 ^ 31) * s) by ring.
  rewrite Z.div_add_l by lia. reflexivity.
Qed.

Open Scope R_scope.

Definition chance (s h : nat) : R := IZR (words (Z.of_nat s) (Z.of_nat h)) / IZR TOTAL.

(** Pr[i]: coin i shows a hand, and the word chooses it among all raised hands. *)
Definition drawn (ps : list R) (i : nat) : R :=
  coins ps (fun bs => if nth i bs false then chance (hands bs) (hands (firstn i bs)) else 0).

Lemma T_pos' : 0 < IZR TOTAL. Proof. apply IZR_pos. reflexivity. Qed.

Lemma chance_near m s h : (0 < s)%nat -> (s <= m)%nat ->
  (1 - INR m / IZR TOTAL) * / INR s <= chance s h <= (1 + INR m / IZR TOTAL) * / INR s.
Proof.
  intros Hs Hm. pose proof T_pos' as HT. pose proof (words_near (Z.of_nat s) (Z.of_nat h) ltac:(lia)) as [A B].
  unfold chance. set (w := words (Z.of_nat s) (Z.of_nat h)) in *. clearbody w.
  apply IZR_lt in A, B. rewrite minus_IZR, mult_IZR, <- INR_IZR_INZ in A. rewrite plus_IZR, mult_IZR, <- INR_IZR_INZ in B.
  apply le_INR in Hm. apply lt_0_INR in Hs.
  split; apply Rmult_le_reg_r with (IZR TOTAL * INR s); try nra.
  - replace ((1 - INR m / IZR TOTAL) * / INR s * (IZR TOTAL * INR s)) with (IZR TOTAL - INR m) by (field; lra).
    replace (IZR w / IZR TOTAL * (IZR TOTAL * INR s)) with (INR s * IZR w) by (field; lra). lra.
  - replace ((1 + INR m / IZR TOTAL) * / INR s * (IZR TOTAL * INR s)) with (IZR TOTAL + INR m) by (field; lra).
    replace (IZR w / IZR TOTAL * (IZR TOTAL * INR s)) with (INR s * IZR w) by (field; lra). lra.
Qed.

Lemma hands_le bs : (hands bs <= length bs)%nat.
Proof. induction bs as [|[|] bs IH]; cbn; lia. Qed.

(** The sampler's law against the ideal one. *)
Lemma drawn_near ps i : Forall in_unit ps -> let d := INR (length ps) / IZR TOTAL in
  (1 - d) * flip ps i <= drawn ps i <= (1 + d) * flip ps i.
Proof.
  intros Hp d. unfold flip, drawn. rewrite <- !coins_scale.
  split; apply coins_le; auto; intros bs Hb.
  all: destruct (nth i bs false) eqn:E; [|rewrite Rmult_0_r; lra].
  all: pose proof (hands_here bs i E) as H0; pose proof (hands_le bs) as H1; rewrite Hb in H1.
  all: destruct (chance_near (length ps) (hands bs) (hands (firstn i bs)) H0 H1); assumption.
Qed.

(** * The closed forms *)
Lemma factors_repeat z k u : factors (repeat z k) u = (1 - z * u) ^ k.
Proof. induction k; cbn; [reflexivity|]. now rewrite IHk. Qed.

Lemma power_integral z k : z * INR (S k) * J 1 0 (repeat z k) = 1 - (1 - z) ^ S k.
Proof.
  apply (integral_unique (fun u => z * INR (S k) * factors (repeat z k) u) 0 1); [lra| |].
  - pose proof (integral_linear _ _ _ _ _ _ (z * INR (S k)) 0 (J0_integral 1 (repeat z k)) (J0_integral 1 (repeat z k))) as L.
    replace (z * INR (S k) * J 1 0 (repeat z k) + 0 * J 1 0 (repeat z k)) with (z * INR (S k) * J 1 0 (repeat z k)) in L by ring.
    eapply integral_ext; [|exact L]. intro u. cbv beta. ring.
  - exists (fun u => -1 * (1 - z * u) ^ S k). split.
    + intro u. rewrite factors_repeat.
      replace (z * INR (S k) * (1 - z * u) ^ k) with (-1 * (INR (S k) * (1 - z * u) ^ k * (0 - z * 1))) by ring.
      apply (derivable_pt_lim_scal (fun u => (1 - z * u) ^ S k)).
      apply (derivable_pt_lim_comp (fun u => 1 - z * u) (fun y => y ^ S k)).
      * apply (derivable_pt_lim_minus (fun _ => 1) (fun u => z * u)); [apply derivable_pt_lim_const|].
        apply (derivable_pt_lim_scal id). apply derivable_pt_lim_id.
      * apply derivable_pt_lim_pow.
    + rewrite Rmult_0_r, Rmult_1_r, Rminus_0_r, pow1. ring.
Qed.

(** 1 - h u = (1 - h/z) + (h/z) (1 - z u) *)
Lemma first_factor h z c : z <> 0 ->
  J 1 0 (h :: repeat z c) = (1 - h / z) * J 1 0 (repeat z c) + h / z * J 1 0 (repeat z (S c)).
Proof.
  intros Hz. apply (integral_unique (factors (h :: repeat z c)) 0 1); [lra|apply J0_integral|].
  eapply integral_ext; [|apply (integral_linear _ _ _ _ _ _ (1 - h / z) (h / z) (J0_integral 1 (repeat z c)) (J0_integral 1 (repeat z (S c))))].
  intro u. cbv beta. cbn [repeat factors]. field. assumption.
Qed.

Lemma closed_form h z c : z <> 0 ->
  z * INR (S c) * INR (S (S c)) * J 1 0 (h :: repeat z c)
  = (1 - h / z) * INR (S (S c)) * (1 - (1 - z) ^ S c) + h / z * INR (S c) * (1 - (1 - z) ^ S (S c)).
Proof.
  intros Hz. rewrite first_factor by assumption. rewrite <- (power_integral z c), <- (power_integral z (S c)). ring.
Qed.

Lemma IZR_power a n : IZR (power a n) = IZR a ^ n.
Proof. unfold power. now rewrite <- pow_IZR. Qed.

Lemma scaled_power b X n : b <> 0 -> b ^ n * (1 - X / b) ^ n = (b - X) ^ n.
Proof. intro Hb. rewrite <- Rpow_mult_distr. f_equal. field. assumption. Qed.

Lemma flat_closed X b c : (0 < X)%Z -> (0 < b)%Z ->
  IZR (flat_integral X b c) =
  J 1 0 (1 :: repeat (IZR X / IZR b) c) * (IZR X ^ 2 * IZR b ^ c * INR (S c) * INR (S (S c))).
Proof.
  intros HX Hb. apply IZR_pos in HX, Hb. unfold flat_integral.
  rewrite plus_IZR, minus_IZR, !mult_IZR, !IZR_power, plus_IZR, minus_IZR, <- INR_IZR_INZ.
  set (A := IZR X) in *. set (B := IZR b) in *.
  assert (Hz : A / B <> 0) by (apply Rgt_not_eq; apply Rmult_lt_0_compat; [lra|now apply Rinv_0_lt_compat]).
  pose proof (closed_form 1 (A / B) c Hz) as E.
  replace (J 1 0 (1 :: repeat (A / B) c) * (A ^ 2 * B ^ c * INR (S c) * INR (S (S c))))
    with (A / B * INR (S c) * INR (S (S c)) * J 1 0 (1 :: repeat (A / B) c) * (A * B * B ^ c)) by (field; lra).
  rewrite E. rewrite <- (scaled_power B A (c + 2)) by lra.
  replace (c + 2)%nat with (S (S c)) by lia. replace (c + 1)%nat with (S c) by lia.
  set (q := (1 - A / B)). assert (Eq : q * B = B - A) by (unfold q; field; lra).
  rewrite !S_INR. cbn [pow].
  replace ((1 - 1 / (A / B)) * (INR c + 1 + 1) * (1 - q * q ^ c) + 1 / (A / B) * (INR c + 1) * (1 - q * (q * q ^ c)))
    with (/ A * ((A - B) * (INR c + 1 + 1) * (1 - q * q ^ c) + B * (INR c + 1) * (1 - q * (q * q ^ c)))) by (field; lra).
  replace (/ A * ((A - B) * (INR c + 1 + 1) * (1 - q * q ^ c) + B * (INR c + 1) * (1 - q * (q * q ^ c))) * (A * B * B ^ c))
    with (((A - B) * (INR c + 1 + 1) * (1 - q * q ^ c) + B * (INR c + 1) * (1 - q * (q * q ^ c))) * (B * B ^ c)) by (field; lra).
  replace (A - B) with (- (q * B)) by lra. replace A with (B - q * B) by lra. ring.
Qed.

Lemma moved_closed X r c : (0 < X)%Z -> (0 < r)%Z ->
  IZR (moved_integral X r c) =
  J 1 0 (IZR X / IZR TOTAL :: repeat (IZR X / IZR r) c) * (IZR TOTAL * IZR X * IZR r ^ c * INR (S c) * INR (S (S c))).
Proof.
  intros HX Hr. apply IZR_pos in HX, Hr. pose proof T_pos' as HT. unfold moved_integral.
  rewrite plus_IZR, !mult_IZR, !minus_IZR, !IZR_power, !plus_IZR, !minus_IZR, <- INR_IZR_INZ.
  set (A := IZR X) in *. set (B := IZR TOTAL) in *. set (b := IZR r) in *.
  assert (Hz : A / b <> 0) by (apply Rgt_not_eq; apply Rmult_lt_0_compat; [lra|now apply Rinv_0_lt_compat]).
  pose proof (closed_form (A / B) (A / b) c Hz) as E.
  replace (J 1 0 (A / B :: repeat (A / b) c) * (B * A * b ^ c * INR (S c) * INR (S (S c))))
    with (A / b * INR (S c) * INR (S (S c)) * J 1 0 (A / B :: repeat (A / b) c) * (B * b * b ^ c)) by (field; lra).
  rewrite E. rewrite <- !(scaled_power b A) by lra.
  replace (c + 2)%nat with (S (S c)) by lia. replace (c + 1)%nat with (S c) by lia.
  set (q := (1 - A / b)). rewrite !S_INR. cbn [pow].
  replace (A / B / (A / b)) with (b / B) by (field; lra). field. lra.
Qed.

(** * The fractions are the bounds *)
Lemma over_total (z : Z) : (TOTAL <= z)%Z -> 1 <= IZR z / IZR TOTAL.
Proof.
  intro H. pose proof T_pos' as HT. apply IZR_le in H. apply Rmult_le_reg_r with (IZR TOTAL); [assumption|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Definition wide (width : Z) : bool := (MOST_SCORED <? width)%Z.

Lemma stays_fraction width own oth X : (TOTAL <= own)%Z -> (TOTAL <= oth)%Z -> (1 <= X < TOTAL)%Z ->
  let c := Z.to_nat (width - 1) in
  0 < IZR (snd (stays_ratio width own oth X)) /\
  IZR (fst (stays_ratio width own oth X)) = IZR (snd (stays_ratio width own oth X)) *
    (if wide width then IZR own / IZR TOTAL * (IZR oth / IZR TOTAL)
     else stays (IZR X / IZR TOTAL) (IZR own / IZR TOTAL) (IZR oth / IZR TOTAL) c).
Proof.
  intros Ho Ho' HX c. pose proof T_pos' as HT. assert (T0 : (0 < TOTAL)%Z) by reflexivity.
  assert (Ow : 0 < IZR own) by (apply IZR_pos; lia). assert (Ot : 0 < IZR oth) by (apply IZR_pos; lia).
  assert (Xp : 0 < IZR X) by (apply IZR_pos; lia).
  unfold stays_ratio, wide. destruct (MOST_SCORED <? width)%Z; cbn [fst snd].
  - rewrite !mult_IZR. split; [nra|]. field. lra.
  - fold c. assert (Xu : 0 < IZR X / IZR TOTAL < 1).
    { split; [apply Rmult_lt_0_compat; [assumption|now apply Rinv_0_lt_compat]|].
      apply Rmult_lt_reg_r with (IZR TOTAL); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
      rewrite Rmult_1_r, Rmult_1_l. apply IZR_lt. lia. }
    pose proof (I_pos c (IZR X / IZR TOTAL) ltac:(lra)) as Ip.
    rewrite !mult_IZR, !IZR_power, !flat_closed by (lia || reflexivity).
    assert (Po : 0 < IZR oth ^ c) by now apply pow_lt. assert (PT : 0 < IZR TOTAL ^ c) by now apply pow_lt.
    assert (PX : 0 < IZR X ^ 2) by now apply pow_lt.
    assert (N1 : 0 < INR (S c)) by (apply lt_0_INR; lia). assert (N2 : 0 < INR (S (S c))) by (apply lt_0_INR; lia).
    fold (I c (IZR X / IZR TOTAL)). split.
    + repeat (apply Rmult_lt_0_compat; try assumption).
    + unfold stays. replace (/ (IZR oth / IZR TOTAL) * (IZR X / IZR TOTAL)) with (IZR X / IZR oth) by (field; lra).
      fold (I c (IZR X / IZR oth)). field. lra.
Qed.

Lemma moves_fraction width r X : (TOTAL <= r)%Z -> (1 <= X < TOTAL)%Z -> wide width = false ->
  let c := Z.to_nat (width - 1) in let x := IZR X / IZR TOTAL in let R0 := IZR r / IZR TOTAL in
  0 < IZR (snd (moves_ratio width r X)) /\
  IZR (fst (moves_ratio width r X)) = IZR (snd (moves_ratio width r X)) * (K x R0 c / x / I c x).
Proof.
  intros Hr HX W c x R0. pose proof T_pos' as HT. assert (T0 : (0 < TOTAL)%Z) by reflexivity.
  assert (Rp : 0 < IZR r) by (apply IZR_pos; lia). assert (Xp : 0 < IZR X) by (apply IZR_pos; lia).
  unfold moves_ratio. unfold wide in W. rewrite W. cbn [fst snd]. fold c.
  assert (Xu : 0 < x < 1).
  { unfold x. split; [apply Rmult_lt_0_compat; [assumption|now apply Rinv_0_lt_compat]|].
    apply Rmult_lt_reg_r with (IZR TOTAL); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
    rewrite Rmult_1_r, Rmult_1_l. apply IZR_lt. lia. }
  pose proof (I_pos c x ltac:(lra)) as Ip.
  rewrite !mult_IZR, !IZR_power, flat_closed, moved_closed by (lia || reflexivity).
  assert (Po : 0 < IZR r ^ c) by now apply pow_lt. assert (PT : 0 < IZR TOTAL ^ c) by now apply pow_lt.
  assert (PX : 0 < IZR X ^ 2) by now apply pow_lt.
  assert (N1 : 0 < INR (S c)) by (apply lt_0_INR; lia). assert (N2 : 0 < INR (S (S c))) by (apply lt_0_INR; lia).
  fold x. fold (I c x). split.
  - repeat (apply Rmult_lt_0_compat; try assumption).
  - unfold K. replace (y x R0) with (IZR X / IZR r) by (unfold y, x, R0; field; lra).
    generalize dependent (I c x). intros ic Ip. generalize (J 1 0 (x :: repeat (IZR X / IZR r) c)). intro k.
    unfold x. field. repeat split; lra.
Qed.

(** * Soundness *)
Definition chances (table : list Z) (l : nat) : R := IZR (table_at table l) / IZR TOTAL.

(** How much deeper each depth counts; the last number is repeated. *)
Definition more_at (deeper : list nat) (k : nat) : nat := nth (Nat.min k (length deeper - 1)) deeper 0%nat.

Lemma falling_spec t : falling t = true ->
  (forall l, (l < length t)%nat -> (1 <= nth l t 0)%Z) /\ (forall l, (S l < length t)%nat -> (nth (S l) t 0 <= nth l t 0)%Z).
Proof.
  induction t as [|a t IH]; [discriminate|]. destruct t as [|b t].
  - cbn. intro H. apply Z.leb_le in H. split; intros [|l] Hl; lia.
  - intro H. change (falling (a :: b :: t)) with ((b <=? a)%Z && falling (b :: t)) in H.
    apply andb_true_iff in H as [H1 H2]. apply Z.leb_le in H1. destruct (IH H2) as [P Q]. cbn [length] in *. split.
    + intros [|l] Hl; cbn [nth]; [pose proof (P 0%nat ltac:(lia)); cbn in *; lia|apply P; lia].
    + intros [|l] Hl; cbn [nth]; [assumption|apply Q; lia].
Qed.

Lemma last_nth (t : list Z) : last t 0%Z = nth (length t - 1) t 0%Z.
Proof.
  induction t as [|a t IH]; [reflexivity|]. destruct t as [|b t]; [reflexivity|].
  change (last (a :: b :: t) 0%Z) with (last (b :: t) 0%Z). rewrite IH. cbn [length].
  replace (S (S (length t)) - 1)%nat with (S (S (length t) - 1)) by lia. reflexivity.
Qed.

Lemma max_step (a : list Z) : forall b j, length b = length a -> (j < length a)%nat ->
  (quotient_above (nth j a 0 * TOTAL) (nth j b 0)
   <= fold_right Z.max 0 (map (fun ab => quotient_above (fst ab * TOTAL) (snd ab)) (combine a b)))%Z.
Proof.
  induction a as [|x a IH]; intros b j L Hj; cbn in Hj; [lia|]. destruct b as [|z b]; [cbn in L; lia|].
  cbn [combine map fold_right fst snd]. destruct j as [|j]; cbn [nth]; [lia|].
  specialize (IH b j ltac:(cbn in L; lia) ltac:(lia)). lia.
Qed.

Lemma largest_spec table by_ : (2 <= length table)%nat -> (forall l, (l < length table)%nat -> (1 <= nth l table 0)%Z) ->
  forall i, (1 <= i)%nat -> (table_at table i * TOTAL <= largest_step table by_ * table_at table (i + by_))%Z.
Proof.
  intros L P i Hi. destruct table as [|t0 tail]; [cbn in L; lia|]. cbn [length] in *.
  unfold largest_step. cbn [tl]. set (n := length tail) in *.
  set (shifted := skipn by_ tail ++ repeat (last (t0 :: tail) 0%Z) (Nat.min by_ n)).
  assert (Ls : length shifted = n) by (unfold shifted; rewrite app_length, skipn_length, repeat_length; fold n; lia).
  set (j := (Nat.min i n - 1)%nat). assert (Hj : (j < n)%nat) by lia.
  assert (Ei : table_at (t0 :: tail) i = nth j tail 0%Z).
  { unfold table_at. cbn [length]. fold n. replace (Nat.min i (S n - 1)) with (S j) by lia. reflexivity. }
  assert (Es : nth j shifted 0%Z = table_at (t0 :: tail) (i + by_) \/ (table_at (t0 :: tail) (i + by_) = nth (n - 1) tail 0%Z /\ nth j shifted 0%Z = nth (n - 1) tail 0%Z)).
  { unfold shifted. destruct (le_lt_dec n (j + by_)) as [Hge|Hlt].
    - right. assert (Last : last (t0 :: tail) 0%Z = nth (n - 1) tail 0%Z).
      { rewrite last_nth. cbn [length]. fold n. replace (S n - 1)%nat with (S (n - 1)) by lia. reflexivity. }
      split.
      + unfold table_at. cbn [length]. fold n. replace (Nat.min (i + by_) (S n - 1)) with (S (n - 1)) by lia. reflexivity.
      + rewrite app_nth2 by (rewrite skipn_length; fold n; lia). rewrite skipn_length. fold n.
        rewrite Last. destruct (le_lt_dec (Nat.min by_ n) (j - (n - by_))) as [|Hr]; [lia|].
        clear - Hr. revert Hr. generalize (j - (n - by_))%nat (Nat.min by_ n) (nth (n - 1) tail 0%Z).
        intros a b z. revert a. induction b as [|b IH]; intros [|a] H; cbn; try lia. apply IH. lia.
    - left. rewrite app_nth1 by (rewrite skipn_length; fold n; lia).
      assert (Sk : forall (l : list Z) a k, nth k (skipn a l) 0%Z = nth (a + k) l 0%Z).
      { induction l as [|z l IH]; intros [|a] k; cbn; auto. destruct k; reflexivity. }
      rewrite Sk. unfold table_at. cbn [length]. fold n.
      replace (Nat.min (i + by_) (S n - 1)) with (S (by_ + j)) by lia. reflexivity. }
  assert (Sp : (1 <= nth j shifted 0)%Z).
  { destruct Es as [->|[_ ->]]; [unfold table_at; apply P; cbn [length]; lia|]. apply (P (S (n - 1))). lia. }
  assert (Max : (quotient_above (nth j tail 0 * TOTAL) (nth j shifted 0)
                 <= fold_right Z.max 0 (map (fun ab => quotient_above (fst ab * TOTAL) (snd ab)) (combine tail shifted)))%Z).
  { now apply max_step. }
  pose proof (quotient_above_spec (nth j tail 0 * TOTAL)%Z (nth j shifted 0%Z) ltac:(lia)) as Qs.
  assert (Eq : nth j shifted 0%Z = table_at (t0 :: tail) (i + by_)) by (destruct Es as [E|[-> ->]]; [assumption|reflexivity]).
  rewrite Ei, <- Eq. nia.
Qed.

(** The largest step is one that no weight of the table falls by more than. *)
Lemma table_steps table by_ : (2 <= length table)%nat -> falling table = true ->
  (TOTAL <= largest_step table by_)%Z /\
  forall i, (1 <= i)%nat -> chances table i <= IZR (largest_step table by_) / IZR TOTAL * chances table (i + by_).
Proof.
  intros L F. destruct (falling_spec table F) as [P _].
  pose proof (largest_spec table by_ L P) as S. pose proof T_pos' as HT. split.
  - specialize (S (length table) ltac:(lia)). unfold table_at in S.
    replace (Nat.min (length table + by_) (length table - 1)) with (Nat.min (length table) (length table - 1)) in S by lia.
    pose proof (P (Nat.min (length table) (length table - 1)) ltac:(lia)). assert (0 < TOTAL)%Z by reflexivity. nia.
  - intros i Hi. specialize (S i Hi). apply IZR_le in S. rewrite !mult_IZR in S. unfold chances.
    apply Rmult_le_reg_r with (IZR TOTAL * IZR TOTAL); [nra|].
    replace (IZR (table_at table i) / IZR TOTAL * (IZR TOTAL * IZR TOTAL)) with (IZR (table_at table i) * IZR TOTAL) by (field; lra).
    replace (IZR (largest_step table by_) / IZR TOTAL * (IZR (table_at table (i + by_)) / IZR TOTAL) * (IZR TOTAL * IZR TOTAL))
      with (IZR (largest_step table by_) * IZR (table_at table (i + by_))) by (field; lra). exact S.
Qed.

Section Accepted.
  Variables (table : list Z) (stride : nat) (deeper : list nat) (width en ed : Z).
  Hypothesis accepted : check_scores table stride deeper width en ed = true.
  Let X := nth 1 table 0%Z.
  Let r := Z.max (largest_step table stride) (quotient_above (TOTAL * TOTAL) X).
  Let c := Z.to_nat (width - 1).
  Let T := chances table.
  Let more := more_at deeper.

  Lemma facts : (0 <= en)%Z /\ (0 < ed)%Z /\ (2 <= length table)%nat /\ nth 0 table 0%Z = TOTAL /\ (X < TOTAL)%Z /\
    falling table = true /\ (1 <= stride)%nat /\ (forall m, In m deeper -> (m <= stride)%nat) /\ (1 <= width < MOST_OUTPUTS)%Z /\
    (forall hl, In hl (ratio_bounds table stride deeper width) ->
       fst hl * (TOTAL + (width + 1)) * 2 ^ EXP_BITS <= ratio_below en ed 1 1 * (snd hl * (TOTAL - (width + 1))))%Z.
  Proof.
    pose proof accepted as H. unfold check_scores in H. rewrite !andb_true_iff in H.
    destruct H as [[[[[[[[[[[[A B] C] D] E] F] G] _] N] W1] W2] _] K].
    apply Z.leb_le in A, W1. apply Nat.leb_le in C, G. apply Z.ltb_lt in B, E, W2. apply Z.eqb_eq in D.
    rewrite forallb_forall in N, K. repeat split; auto.
    - intros m Hm. apply Nat.leb_le. auto.
    - intros hl Hl. specialize (K hl Hl). apply Z.leb_le in K. now rewrite Z.shiftl_mul_pow2 in K by easy.
  Qed.

  Lemma table_pos l : (1 <= table_at table l)%Z.
  Proof. destruct facts as (_ & _ & L & _ & _ & F & _). apply (falling_spec table F). lia. Qed.

  Lemma table_falls l : (table_at table (S l) <= table_at table l)%Z.
  Proof.
    destruct facts as (_ & _ & L & _ & _ & F & _). destruct (falling_spec table F) as [_ Q]. unfold table_at.
    destruct (le_lt_dec (length table - 1) l) as [Hl|Hl].
    - replace (Nat.min (S l) (length table - 1)) with (Nat.min l (length table - 1)) by lia. lia.
    - replace (Nat.min l (length table - 1)) with l by lia. replace (Nat.min (S l) (length table - 1)) with (S l) by lia. apply Q. lia.
  Qed.

  Lemma X_is : X = table_at table 1.
  Proof. destruct facts as (_ & _ & L & _). unfold X, table_at. now replace (Nat.min 1 (length table - 1)) with 1%nat by lia. Qed.

  Lemma steps_of by_ : (TOTAL <= largest_step table by_)%Z /\
    steps_by T by_ (IZR (largest_step table by_) / IZR TOTAL).
  Proof. destruct facts as (_ & _ & L & _ & _ & F & _). exact (table_steps table by_ L F). Qed.

  Lemma T_zero : T 0 = 1.
  Proof.
    destruct facts as (_ & _ & L & Z0 & _). unfold T, chances, table_at.
    replace (Nat.min 0 (length table - 1)) with 0%nat by lia. rewrite Z0. pose proof T_pos'. field. lra.
  Qed.

  Lemma T_positive l : 0 < T l.
  Proof. pose proof (table_pos l). apply Rmult_lt_0_compat; [apply IZR_pos; lia|apply Rinv_0_lt_compat, T_pos']. Qed.

  Lemma T_falling l : T (S l) <= T l.
  Proof. pose proof (table_falls l). apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, T_pos'|now apply IZR_le]. Qed.

  Lemma T_under_one l : (1 <= l)%nat -> T l < 1 /\ (1 <= table_at table l < TOTAL)%Z.
  Proof.
    intro Hl. destruct facts as (_ & _ & _ & _ & XT & _). rewrite X_is in XT. pose proof T_pos' as HT.
    assert (A : forall k, (1 <= k)%nat -> (table_at table k <= table_at table 1)%Z)
      by (intros k Hk; induction Hk as [|k Hk IH]; [lia|]; pose proof (table_falls k); lia).
    specialize (A l Hl).
    pose proof (table_pos l). split; [|lia]. unfold T, chances. apply Rmult_lt_reg_r with (IZR TOTAL); [assumption|].
    unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. rewrite Rmult_1_r, Rmult_1_l. apply IZR_lt. lia.
  Qed.

  Lemma r_large : (TOTAL <= r)%Z.
  Proof. destruct (steps_of stride) as [H _]. unfold r. lia. Qed.

  Definition slack : R := INR (Z.to_nat (width + 1)) / IZR TOTAL.

  (** What is left of exp (epsilon) when the sampler's index is paid for. *)
  Definition allowed : R := exp (eps en ed) * (1 - slack) / (1 + slack).

  Lemma slack_small : 0 <= slack < 1.
  Proof.
    destruct facts as (_ & _ & _ & _ & _ & _ & _ & _ & W & _). pose proof T_pos' as HT. unfold slack. rewrite INR_IZR_INZ, Z2Nat.id by lia.
    split; [apply Rmult_le_pos; [apply IZR_le; lia|left; now apply Rinv_0_lt_compat]|].
    apply Rmult_lt_reg_r with (IZR TOTAL); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
    rewrite Rmult_1_r, Rmult_1_l. apply IZR_lt. unfold MOST_OUTPUTS, TOTAL in *. lia.
  Qed.

  Lemma paid hl b : In hl (ratio_bounds table stride deeper width) -> 0 < IZR (snd hl) -> IZR (fst hl) = IZR (snd hl) * b -> b <= allowed.
  Proof.
    intros Hl Lp E. destruct facts as (He & Hed & _ & _ & _ & _ & _ & _ & W & Acc). specialize (Acc hl Hl).
    destruct (ratio_below_sound en ed 1 1 He Hed ltac:(lia) ltac:(lia)) as [_ Hexp].
    replace (IZR en / IZR ed * (1 / 1)) with (eps en ed) in Hexp by (unfold eps; field; apply not_0_IZR; lia).
    pose proof slack_small as Sl. pose proof T_pos' as HT.
    assert (Em : slack * IZR TOTAL = IZR (width + 1)) by (unfold slack; rewrite INR_IZR_INZ, Z2Nat.id by lia; field; lra).
    assert (G : IZR (fst hl * (TOTAL + (width + 1))) <= exp (eps en ed) * IZR (snd hl * (TOTAL - (width + 1)))).
    { apply (ratio_kept (ratio_below en ed 1 1)); [|assumption|assumption].
      apply le_IZR. rewrite mult_IZR, minus_IZR, <- Em. apply Rmult_le_pos; nra. }
    rewrite !mult_IZR, plus_IZR, minus_IZR, <- Em, E in G. unfold allowed.
    apply Rmult_le_reg_r with (IZR (snd hl) * IZR TOTAL * (1 + slack)); [repeat apply Rmult_lt_0_compat; lra|].
    replace (exp (eps en ed) * (1 - slack) / (1 + slack) * (IZR (snd hl) * IZR TOTAL * (1 + slack)))
      with (exp (eps en ed) * (IZR (snd hl) * (IZR TOTAL - slack * IZR TOTAL))) by (field; lra).
    replace (b * (IZR (snd hl) * IZR TOTAL * (1 + slack))) with (IZR (snd hl) * b * (IZR TOTAL + slack * IZR TOTAL)) by ring.
    exact G.
  Qed.

  Lemma stays_paid own oth l : (TOTAL <= own)%Z -> (TOTAL <= oth)%Z -> (1 <= l)%nat ->
    In (stays_ratio width own oth (table_at table l)) (ratio_bounds table stride deeper width) ->
    pays c allowed (wide width) (IZR own / IZR TOTAL) (IZR oth / IZR TOTAL) (T l).
  Proof.
    intros Ho Ho' Hl Hin. destruct (T_under_one l Hl) as [_ Xl].
    destruct (stays_fraction width own oth (table_at table l) Ho Ho' Xl) as [Lp E].
    pose proof (paid _ _ Hin Lp E) as B. unfold pays. split; [now apply over_total|]. split; [now apply over_total|].
    destruct (wide width); exact B.
  Qed.

  (** The entries about the depth, one for each number of [deeper]. *)
  Lemma depth_entries : forall ds level k, (k < length ds)%nat ->
    let before := (level + fold_right Nat.add 0%nat (firstn k ds))%nat in let m := nth k ds 0%nat in
    let Q := largest_step table (stride + m) in let S' := largest_step table (stride - m) in
    In (stays_ratio width Q S' (table_at table (before + m))) (depth_ratios table stride width level ds) /\
    In (stays_ratio width S' Q (table_at table before)) (depth_ratios table stride width level ds).
  Proof.
    induction ds as [|m ds IH]; intros level k Hk; cbn [length] in Hk; [lia|]. destruct k as [|k].
    - cbn [firstn fold_right nth depth_ratios]. rewrite Nat.add_0_r. split; [now left|right; now left].
    - specialize (IH (level + m)%nat k ltac:(lia)). cbn [firstn fold_right nth depth_ratios] in *.
      replace (level + (m + fold_right Nat.add 0 (firstn k ds)))%nat with (level + m + fold_right Nat.add 0 (firstn k ds))%nat by lia.
      destruct IH as [A B]. split; right; right; assumption.
  Qed.

  Lemma below_sum k : (k <= length deeper)%nat -> below more k = fold_right Nat.add 0%nat (firstn k deeper).
  Proof.
    induction k as [|k IH]; intro H; [reflexivity|]. cbn [below]. rewrite IH by lia. unfold more, more_at.
    replace (Nat.min k (length deeper - 1)) with k by lia. clear - H. revert k H.
    induction deeper as [|a ds IH]; intros k H; cbn [length] in H; [lia|]. destruct k as [|k]; [cbn; lia|].
    specialize (IH k ltac:(lia)). cbn [firstn fold_right nth] in *. destruct ds as [|b ds]; [cbn in H; lia|]. cbn [firstn fold_right] in *. lia.
  Qed.

  (** Neighbouring groups: every length moves by at most one, and each group has one true answer. *)
  Definition neighbouring (l l' : list nat) : Prop :=
    length l = Z.to_nat (width + 1) /\ Forall2 (fun a b => lengths_near (a, b)) l l' /\ zeros l = 1%nat /\ zeros l' = 1%nat.

  Definition levels (d : nat) (l : list nat) : list nat := map (level stride more d) l.

  Lemma flip_bound l l' d d' i : neighbouring l l' -> has_depth l d -> has_depth l' d' -> (i < length l)%nat ->
    flip (map T (levels d l)) i <= allowed * flip (map T (levels d' l')) i.
  Proof.
    intros (L & N & Z1 & Z2) D D' Hi. destruct facts as (_ & _ & LT & _ & XT & _ & St & Mo & W & _).
    pose proof T_pos' as HT. pose proof X_is as EX. pose proof r_large as Rl.
    destruct (T_under_one 1 ltac:(lia)) as [T1 X1]. rewrite <- EX in X1.
    destruct (steps_of stride) as [_ Own].
    assert (Ex : T 1 = IZR X / IZR TOTAL) by (unfold T, chances; now rewrite EX).
    assert (First : 1 <= T 1 * (IZR r / IZR TOTAL)).
    { assert (A : (TOTAL * TOTAL <= X * r)%Z) by (pose proof (quotient_above_spec (TOTAL * TOTAL) X ltac:(lia)); unfold r; nia).
      apply IZR_le in A. rewrite !mult_IZR in A. rewrite Ex. apply Rmult_le_reg_r with (IZR TOTAL * IZR TOTAL); [nra|].
      replace (IZR X / IZR TOTAL * (IZR r / IZR TOTAL) * (IZR TOTAL * IZR TOTAL)) with (IZR X * IZR r) by (field; lra). lra. }
    assert (Own' : steps_by T stride (IZR r / IZR TOTAL)).
    { intros j Hj. eapply Rle_trans; [now apply Own|]. apply Rmult_le_compat_r; [left; apply T_positive|].
      apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|]. apply IZR_le. unfold r. lia. }
    assert (More : forall k, (more k <= stride)%nat).
    { intro k. unfold more, more_at. destruct deeper as [|a ds]; [destruct (Nat.min k (length (@nil nat) - 1)); cbn; lia|].
      apply Mo. apply nth_In. cbn [length]. lia. }
    assert (Head : In (stays_ratio width r r X) (ratio_bounds table stride deeper width)) by now left.
    set (pairs := combine l l').
    assert (F : map fst pairs = l /\ map snd pairs = l' /\ Forall lengths_near pairs).
    { unfold pairs. clear - N. induction N as [|a b l l' Hab N (A & B & C)]; cbn; [auto|]. rewrite A, B. repeat split; auto. }
    destruct F as (F1 & F2 & Fn).
    assert (Lp : length pairs = S (S c)).
    { rewrite <- (map_length fst), F1, L. unfold c. lia. }
    assert (Goal' : flip (map (fun e => T (level stride more d (fst e))) pairs) i
                    <= allowed * flip (map (fun e => T (level stride more d' (snd e))) pairs) i).
    { apply (levels_pairs T stride more T_zero T_positive T_falling T1 St More (T 1) (IZR r / IZR TOTAL) c eq_refl First Own' allowed (wide width)); auto.
      - apply stays_paid; try assumption; [lia|]. rewrite <- EX. exact Head.
      - intro Wf. destruct (moves_fraction width r X Rl X1 Wf) as [Mp Me]. fold c in Me. rewrite <- Ex in Me.
        assert (Mv : K (T 1) (IZR r / IZR TOTAL) c / T 1 / I c (T 1) <= allowed).
        { apply (paid (moves_ratio width r X)); [right; now left|assumption|assumption]. }
        destruct (stays_paid r r 1 Rl Rl ltac:(lia) ltac:(rewrite <- EX; exact Head)) as (_ & _ & Sp). rewrite Wf in Sp.
        unfold M. unfold stays in Sp. fold (y (T 1) (IZR r / IZR TOTAL)) in Sp.
        unfold Rmax. destruct (Rle_dec _ _); [exact Mv|exact Sp].
      - intros k Hk. assert (Ne : (1 <= length deeper)%nat).
        { destruct (Nat.eq_dec (length deeper) 0) as [E0|]; [|lia]. exfalso. apply Hk. cbn [below].
          assert (M0 : more k = 0%nat) by (unfold more, more_at; apply nth_overflow; lia). lia. }
        set (k' := Nat.min k (length deeper - 1)).
        destruct (depth_entries deeper 1 k' ltac:(lia)) as [E1 E2].
        assert (Em : nth k' deeper 0%nat = more k) by reflexivity.
        assert (Em' : more k' = more k) by (unfold more, more_at, k'; f_equal; lia).
        rewrite Em, <- below_sum in E1, E2 by lia.
        destruct (steps_of (stride + more k)) as [LQ SQ]. destruct (steps_of (stride - more k)) as [LS SS].
        exists (IZR (largest_step table (stride + more k)) / IZR TOTAL), (IZR (largest_step table (stride - more k)) / IZR TOTAL),
          (T (1 + below more k' + more k)%nat), (T (1 + below more k')%nat).
        assert (In1 : forall hl, In hl (depth_ratios table stride width 1 deeper) -> In hl (ratio_bounds table stride deeper width))
          by (intros hl H; right; right; exact H).
        split; [exact SQ|]. split; [exact SS|]. split; [|split; [|split]].
        + split; [|apply T_under_one; lia]. apply (T_antitone T T_falling).
          pose proof (below_mono more (S k') (S k) ltac:(lia)) as Bm. cbn [below] in Bm |- *. rewrite Em' in Bm. lia.
        + split; [|apply T_under_one; lia]. apply (T_antitone T T_falling). pose proof (below_mono more k' k ltac:(lia)). lia.
        + apply stays_paid; try assumption; [lia|]. apply In1. exact E1.
        + apply stays_paid; try assumption; [lia|]. apply In1. exact E2.
      - now rewrite F1.
      - now rewrite F2.
      - now rewrite F1.
      - now rewrite F2.
      - rewrite <- (map_length fst), F1. exact Hi. }
    unfold levels. rewrite <- F1, <- F2. rewrite !map_map. exact Goal'.
  Qed.

  Lemma chances_unit l : Forall in_unit (map T l).
  Proof.
    apply Forall_forall. intros z Hz. apply in_map_iff in Hz as (k & <- & _).
    pose proof (T_positive k) as P. pose proof (T_antitone T T_falling 0 k ltac:(lia)) as Q. rewrite T_zero in Q. unfold in_unit. lra.
  Qed.

  Theorem scores_pointwise l l' d d' i : neighbouring l l' -> has_depth l d -> has_depth l' d' -> (i < length l)%nat ->
    drawn (map T (levels d l)) i <= exp (eps en ed) * drawn (map T (levels d' l')) i.
  Proof.
    intros Hn D D' Hi. pose proof (flip_bound l l' d d' i Hn D D' Hi) as B. destruct Hn as (L & N & _).
    assert (L' : length l' = length l) by (clear - N; induction N; cbn; congruence).
    destruct (drawn_near (map T (levels d l)) i (chances_unit _)) as [_ U].
    destruct (drawn_near (map T (levels d' l')) i (chances_unit _)) as [Lo _].
    unfold levels in U, Lo. rewrite !map_length in U, Lo. rewrite L' in Lo. rewrite L in U, Lo. fold slack in U, Lo. fold (levels d l) (levels d' l') in U, Lo.
    pose proof (flip_nonneg (map T (levels d' l')) i (chances_unit _)) as P. pose proof slack_small as Sl.
    apply Rle_trans with (1 := U). apply Rle_trans with ((1 + slack) * (allowed * flip (map T (levels d' l')) i)).
    { apply Rmult_le_compat_l; lra. }
    replace ((1 + slack) * (allowed * flip (map T (levels d' l')) i))
      with (exp (eps en ed) * ((1 - slack) * flip (map T (levels d' l')) i)) by (unfold allowed; field; lra).
    apply Rmult_le_compat_l; [left; apply exp_pos|exact Lo].
  Qed.

  (** A group as its lengths and its depth; the mechanism to reports, as it is drawn. *)
  Definition group_near (a b : list nat * nat) : Prop :=
    neighbouring (fst a) (fst b) /\ has_depth (fst a) (snd a) /\ has_depth (fst b) (snd b).

  Definition score_law : mechanism (list nat * nat) nat :=
    Mechanism (seq 0 (Z.to_nat (width + 1))) (fun a i => drawn (map T (levels (snd a) (fst a))) i).

  Theorem scores_private : private group_near (eps en ed) score_law.
  Proof.
    apply pointwise_private. intros a b (Hn & D & D') i Hi. cbn in *. apply in_seq in Hi. apply scores_pointwise; auto.
    destruct Hn as (L & _). lia.
  Qed.
End Accepted.
