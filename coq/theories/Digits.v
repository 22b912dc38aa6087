(** Numbers by their digits in a base of at least 2, and a digit put in or taken out.

    number_of_digits   a number below base^n is the sum of its n digits times their powers
    digits_apart       hence it is known by its digits
    digit_of_sum       and any digits are those of a number
    digit_put          what putting a digit in does to the others
    put_taken          taking a digit out is undone by putting it in *)
From Coq Require Import ZArith List Bool Lia Arith.
From Inbounds Require Import Alias Words.
Import ListNotations.
Open Scope Z_scope.

Section Base.
  Variable base : Z.
  Hypothesis base_least : 2 <= base.

  Definition power (i : nat) : Z := base ^ Z.of_nat i.
  Definition digit (i : nat) (x : Z) : Z := x / power i mod base.

  Lemma power_pos i : 0 < power i.
  Proof. apply Z.pow_pos_nonneg; lia. Qed.

  Lemma power_0 : power 0 = 1.
  Proof. reflexivity. Qed.

  Lemma power_S i : power (S i) = base * power i.
  Proof. unfold power. rewrite Nat2Z.inj_succ, Z.pow_succ_r; lia. Qed.

  Lemma power_add i j : power (i + j) = power i * power j.
  Proof. unfold power. rewrite Nat2Z.inj_add, Z.pow_add_r; lia. Qed.

  Lemma power_mono i j : (i <= j)%nat -> power i <= power j.
  Proof. intro H. apply Z.pow_le_mono_r; lia. Qed.

  Lemma digit_range i x : 0 <= digit i x < base.
  Proof. apply Z.mod_pos_bound. lia. Qed.

  (** The digits below place i are the remainder, those from i on the quotient. *)
  Lemma digit_low i k x : (i < k)%nat -> digit i (x mod power k) = digit i x.
  Proof.
    intro H. unfold digit. replace k with (i + S (k - i - 1))%nat by lia. rewrite power_add, power_S.
    pose proof (power_pos i). pose proof (power_pos (k - i - 1)).
    rewrite Z.rem_mul_r by lia. replace (power i * ((x / power i) mod (base * power (k - i - 1))))
      with ((x / power i) mod (base * power (k - i - 1)) * power i) by ring.
    rewrite Z.div_add, (Z.div_small (x mod power i)) by (try lia; apply Z.mod_pos_bound; lia).
    rewrite Z.add_0_l, Z.rem_mul_r by lia. replace (base * ((x / power i / base) mod power (k - i - 1)))
      with ((x / power i / base) mod power (k - i - 1) * base) by ring.
    rewrite Z.mod_add by lia. apply Z.mod_mod. lia.
  Qed.

  Lemma digit_high i k x : digit i (x / power k) = digit (i + k) x.
  Proof. unfold digit. rewrite Z.div_div by (pose proof (power_pos i); pose proof (power_pos k); lia).
    rewrite Nat.add_comm, power_add. reflexivity. Qed.

  Lemma number_of_digits n : forall x, 0 <= x < power n -> x = sum n (fun i => digit i x * power i).
  Proof.
    induction n as [|n IH]; intros x Hx; [rewrite power_0 in Hx; cbn; lia|]. cbn [sum].
    pose proof (power_pos n) as P. pose proof (Z.mod_pos_bound x (power n) P) as M.
    rewrite (sum_ext n _ (fun i => digit i (x mod power n) * power i)) by (intros k Hk; now rewrite digit_low).
    rewrite <- (IH (x mod power n)) by assumption. unfold digit.
    rewrite power_S in Hx. assert (Q : 0 <= x / power n < base) by (split; [apply Z.div_pos|apply Z.div_lt_upper_bound]; lia).
    rewrite (Z.mod_small (x / power n)) by assumption. pose proof (Z.div_mod x (power n) ltac:(lia)). lia.
  Qed.

  Lemma digits_apart n x y : 0 <= x < power n -> 0 <= y < power n -> (forall i, (i < n)%nat -> digit i x = digit i y) -> x = y.
  Proof. intros Hx Hy H. rewrite (number_of_digits n x Hx), (number_of_digits n y Hy). apply sum_ext. intros i Hi. now rewrite H. Qed.

  Lemma digits_zero n x : 0 <= x < power n -> (forall i, (i < n)%nat -> digit i x = 0) -> x = 0.
  Proof.
    intros Hx H. rewrite (number_of_digits n x Hx), (sum_ext n _ (fun _ => 0)); [apply sum_zero|].
    intros i Hi. now rewrite H.
  Qed.

  Lemma sum_of_digits n (f : nat -> Z) : (forall i, (i < n)%nat -> 0 <= f i < base) ->
    0 <= sum n (fun i => f i * power i) < power n /\ forall i, (i < n)%nat -> digit i (sum n (fun i => f i * power i)) = f i.
  Proof.
    induction n as [|n IH]; intro H; [rewrite power_0; cbn; split; [lia|intros; lia]|].
    destruct IH as [R D]; [intros; apply H; lia|]. cbn [sum]. set (x := sum n _) in *.
    pose proof (power_pos n) as P. specialize (H n ltac:(lia)). rewrite power_S. split; [nia|].
    intros i Hi. destruct (Nat.eq_dec i n) as [->|Ne].
    - unfold digit. rewrite Z.div_add, (Z.div_small x) by lia. apply Z.mod_small. lia.
    - rewrite <- (digit_low i n) by lia. rewrite Z.mod_add by lia. rewrite Z.mod_small by lia. apply D. lia.
  Qed.

  Lemma digit_of_sum n f i : (forall i, (i < n)%nat -> 0 <= f i < base) -> (i < n)%nat ->
    digit i (sum n (fun i => f i * power i)) = f i.
  Proof. intros H Hi. now apply (proj2 (sum_of_digits n f H)). Qed.

  (** * A digit put in at place k, or taken out *)
  Definition put (k : nat) (c x : Z) : Z := (x - x mod power k) * base + c * power k + x mod power k.
  Definition take (k : nat) (x : Z) : Z := x / power (S k) * power k + x mod power k.

  Lemma put_whole k c x : put k c x = x / power k * power (S k) + c * power k + x mod power k.
  Proof. unfold put. rewrite power_S. pose proof (Z.div_mod x (power k) ltac:(pose proof (power_pos k); lia)). nia. Qed.

  Lemma digit_put k c x i : 0 <= c < base ->
    digit i (put k c x) = if (i <? k)%nat then digit i x else if (i =? k)%nat then c else digit (i - 1) x.
  Proof.
    intro Hc. rewrite put_whole. pose proof (power_pos k) as P. pose proof (Z.mod_pos_bound x (power k) P) as M.
    rewrite power_S.
    assert (Low : (x / power k * (base * power k) + c * power k + x mod power k) mod power k = x mod power k).
    { replace (x / power k * (base * power k) + c * power k + x mod power k)
        with (x mod power k + (x / power k * base + c) * power k) by ring. rewrite Z.mod_add by lia. apply Z.mod_mod. lia. }
    assert (High : (x / power k * (base * power k) + c * power k + x mod power k) / power k = c + x / power k * base).
    { replace (x / power k * (base * power k) + c * power k + x mod power k)
        with (x mod power k + (x / power k * base + c) * power k) by ring. rewrite Z.div_add, Z.div_small by lia. ring. }
    destruct (Nat.ltb_spec i k) as [L|L].
    - rewrite <- (digit_low i k) by assumption. rewrite Low. now apply digit_low.
    - destruct (Nat.eqb_spec i k) as [->|Ne].
      + unfold digit. rewrite High, Z.mod_add by lia. now apply Z.mod_small.
      + replace i with (S (i - 1 - k) + k)%nat at 1 by lia. rewrite <- digit_high, High.
        replace (i - 1)%nat with (i - 1 - k + k)%nat at 2 by lia. rewrite <- digit_high.
        unfold digit. rewrite power_S, <- Z.div_div by (pose proof (power_pos (i - 1 - k)); lia).
        rewrite Z.div_add, (Z.div_small c) by lia. reflexivity.
  Qed.

  Lemma digit_take k x i : digit i (take k x) = if (i <? k)%nat then digit i x else digit (S i) x.
  Proof.
    unfold take. pose proof (power_pos k) as P. pose proof (Z.mod_pos_bound x (power k) P) as M.
    destruct (Nat.ltb_spec i k) as [L|L].
    - rewrite <- (digit_low i k) by assumption. rewrite Z.add_comm, Z.mod_add, Z.mod_mod by lia. now apply digit_low.
    - replace i with (i - k + k)%nat at 1 by lia. rewrite <- digit_high, Z.add_comm, Z.div_add, Z.div_small, Z.add_0_l by lia.
      rewrite digit_high. f_equal. lia.
  Qed.

  Lemma put_taken k x : put k (digit k x) (take k x) = x.
  Proof.
    unfold put, take. pose proof (power_pos k) as P. pose proof (Z.mod_pos_bound x (power k) P) as M.
    replace ((x / power (S k) * power k + x mod power k) mod power k) with (x mod power k)
      by (rewrite Z.add_comm, Z.mod_add, Z.mod_mod; lia).
    unfold digit. rewrite power_S, (Z.mul_comm base), <- Z.div_div by lia.
    pose proof (Z.div_mod x (power k) ltac:(lia)). pose proof (Z.div_mod (x / power k) base ltac:(lia)). nia.
  Qed.

  Lemma take_range k n x : (k <= n)%nat -> 0 <= x < power (S n) -> 0 <= take k x < power n.
  Proof.
    intros Hk Hx. unfold take. pose proof (power_pos k) as P. pose proof (Z.mod_pos_bound x (power k) P) as M.
    replace n with (k + (n - k))%nat in * by lia. rewrite power_add in *. rewrite power_S, power_add in Hx.
    pose proof (power_pos (n - k)) as N. rewrite power_S.
    assert (Q : 0 <= x / (base * power k) < power (n - k)) by (split; [apply Z.div_pos|apply Z.div_lt_upper_bound]; nia). nia.
  Qed.

  Lemma put_range k n c x : (k <= n)%nat -> 0 <= c < base -> 0 <= x < power n -> 0 <= put k c x < power (S n).
  Proof.
    intros Hk Hc Hx. rewrite put_whole. pose proof (power_pos k) as P. pose proof (Z.mod_pos_bound x (power k) P) as M.
    replace n with (k + (n - k))%nat in * by lia. rewrite power_add in *. rewrite !power_S, power_add.
    pose proof (power_pos (n - k)) as N.
    assert (Q : 0 <= x / power k < power (n - k)) by (split; [apply Z.div_pos|apply Z.div_lt_upper_bound]; nia). nia.
  Qed.

  (** A sum over the digits without one of them. *)
  Lemma sum_without n k (f : nat -> Z) : (k <= n)%nat ->
    sum (S n) f = sum n (fun i => if (i <? k)%nat then f i else f (S i)) + f k.
  Proof.
    intro H. replace (S n) with (k + S (n - k))%nat by lia. replace n with (k + (n - k))%nat at 2 by lia. rewrite !sum_split.
    rewrite (sum_ext k (fun i => if (i <? k)%nat then f i else f (S i)) f)
      by (intros i Hi; apply Nat.ltb_lt in Hi; now rewrite Hi).
    rewrite (sum_ext (n - k) (fun u => if (k + u <? k)%nat then f (k + u)%nat else f (S (k + u))) (fun u => f (k + S u)%nat)).
    2:{ intros i Hi. destruct (Nat.ltb_spec (k + i) k); [lia|]. f_equal. lia. }
    assert (G : forall m g, sum (S m) g = g 0%nat + sum m (fun u => g (S u))).
    { intros m g. induction m as [|m IH]; [cbn; lia|]. cbn [sum] in *. rewrite IH. lia. }
    rewrite G, Nat.add_0_r. lia.
  Qed.
End Base.
