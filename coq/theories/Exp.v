(** exp_below: the whole-number algorithm of trusted/bounds.py, and the proof that it never exceeds exp.

    [exp_below num den] stands for p with p / 2^128 <= exp (num / den). The Taylor sum of exp (x / 256) and eight
    squarings are formed in whole numbers over 2^192, each step rounded down; all terms are positive.

    exp_below_sound    it never exceeds exp
    ratio_below_sound  the same for epsilon times distance, capped at exp 64
    exp_below_is_loop  up to 64 the bounded recursion here is Python's unbounded loop *)
Require Import ZArith Reals Lra Lia Psatz.

(** * The algorithm *)
Open Scope Z_scope.

Definition EXP_BITS := 128.
Definition BITS := 192.
Definition CAP := 64.

(** [while term: k += 1; term = term * y.num // (y.den * k); total += term] *)
Fixpoint taylor (fuel : nat) (num den k term total : Z) : Z :=
  match fuel with
  | O => total
  | S fuel' =>
      if term =? 0 then total
      else let k' := k + 1 in
           let term' := term * num / (den * k') in
           taylor fuel' num den k' term' (total + term')
  end.

(** [for _ in range(r): total = total * total >> bits] *)
Fixpoint squarings (r : nat) (total : Z) : Z :=
  match r with
  | O => total
  | S r' => squarings r' (Z.shiftr (total * total) BITS)
  end.

Definition FUEL : nat := 100.

Definition exp_below (num den : Z) : Z :=
  Z.shiftr (squarings 8 (taylor FUEL num (den * 2 ^ 8) 0 (2 ^ BITS) (2 ^ BITS))) (BITS - EXP_BITS).

(** [exp_below (min (epsilon * distance) 64)] *)
Definition ratio_below (en ed dn dd : Z) : Z :=
  let num := en * dn in
  let den := ed * dd in
  if num <=? CAP * den then exp_below num den else exp_below CAP 1.

(** * Soundness *)
Open Scope R_scope.

Lemma IZR_pos (z : Z) : (0 < z)%Z -> 0 < IZR z.
Proof. intro; now apply IZR_lt. Qed.

Lemma IZR_div_le (a b : Z) : (0 < b)%Z -> IZR (a / b) <= IZR a / IZR b.
Proof.
  intro Hb. pose proof (IZR_pos b Hb) as Hb'.
  apply Rmult_le_reg_r with (IZR b); [assumption|].
  replace (IZR a / IZR b * IZR b) with (IZR a) by (field; lra).
  rewrite <- mult_IZR. apply IZR_le.
  pose proof (Z.mul_div_le a b Hb). lia.
Qed.

Definition term (y : R) (k : nat) : R := / INR (fact k) * y ^ k.

Lemma term_pos y k : 0 <= y -> 0 <= term y k.
Proof.
  intro. unfold term. apply Rmult_le_pos.
  - left. apply Rinv_0_lt_compat. apply INR_fact_lt_0.
  - now apply pow_le.
Qed.

Lemma term_S y k : term y (S k) = term y k * (y / INR (S k)).
Proof.
  unfold term. rewrite fact_simpl, mult_INR. cbn [pow].
  field. split; [apply not_0_INR; lia|apply INR_fact_neq_0].
Qed.

Lemma exp_taylor y n : 0 <= y -> sum_f_R0 (term y) n <= exp y.
Proof.
  intro Hy. apply sum_incr.
  - unfold exp. destruct (exist_exp y) as [l Hl]. exact Hl.
  - intro k. now apply term_pos.
Qed.

Definition U : R := IZR (2 ^ BITS).
Lemma U_pos : 0 < U. Proof. apply IZR_pos. reflexivity. Qed.

Lemma taylor_below num den : (0 <= num)%Z -> (0 < den)%Z ->
  forall fuel (n : nat) t total,
    (0 <= t)%Z ->
    IZR t / U <= term (IZR num / IZR den) n ->
    IZR total / U <= sum_f_R0 (term (IZR num / IZR den)) n ->
    IZR (taylor fuel num den (Z.of_nat n) t total) / U <= exp (IZR num / IZR den).
Proof.
  intros Hnum Hden. set (y := IZR num / IZR den).
  assert (Hden' : 0 < IZR den) by now apply IZR_pos.
  assert (Hnum' : 0 <= IZR num) by now apply IZR_le.
  assert (Hy : 0 <= y) by (unfold y; apply Rmult_le_pos; [lra|left; now apply Rinv_0_lt_compat]).
  pose proof U_pos as HU.
  induction fuel as [|fuel IH]; intros n t total Ht Hterm Htotal; cbn [taylor].
  - eapply Rle_trans; [exact Htotal|now apply exp_taylor].
  - destruct (t =? 0)%Z.
    + eapply Rle_trans; [exact Htotal|now apply exp_taylor].
    + replace (Z.of_nat n + 1)%Z with (Z.of_nat (S n)) by lia.
      assert (Hk : (0 < den * Z.of_nat (S n))%Z) by nia.
      assert (Hnew : IZR (t * num / (den * Z.of_nat (S n))) / U <= term y (S n)).
      { rewrite term_S.
        assert (0 < INR (S n)) by (apply lt_0_INR; lia).
        apply Rle_trans with (IZR t / U * (y / INR (S n))).
        - apply Rle_trans with (IZR (t * num) / IZR (den * Z.of_nat (S n)) / U).
          + apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|].
            now apply IZR_div_le.
          + right. rewrite !mult_IZR, <- INR_IZR_INZ. unfold y. field. lra.
        - 
          apply Rmult_le_compat_r; [|exact Hterm].
          apply Rmult_le_pos; [exact Hy|left; now apply Rinv_0_lt_compat]. }
      apply IH.
      * apply Z.div_pos; [nia|assumption].
      * exact Hnew.
      * rewrite plus_IZR. cbn [sum_f_R0].
        unfold Rdiv. rewrite Rmult_plus_distr_r. apply Rplus_le_compat; assumption.
Qed.

Lemma taylor_nonneg num den : (0 <= num)%Z -> (0 < den)%Z ->
  forall fuel k t total, (0 <= k)%Z -> (0 <= t)%Z -> (0 <= total)%Z -> (0 <= taylor fuel num den k t total)%Z.
Proof.
  intros Hn Hd. induction fuel as [|fuel IH]; intros k t total Hk Ht Htot; cbn [taylor]; [assumption|].
  destruct (t =? 0)%Z; [assumption|].
  assert (0 <= t * num / (den * (k + 1)))%Z by (apply Z.div_pos; nia).
  apply IH; lia.
Qed.

Lemma squarings_below r : forall total x,
  (0 <= total)%Z -> IZR total / U <= exp x ->
  (0 <= squarings r total)%Z /\ IZR (squarings r total) / U <= exp (x * 2 ^ r).
Proof.
  pose proof U_pos as HU.
  induction r as [|r IH]; intros total x Hpos Hle; cbn [squarings].
  - split; [assumption|]. now rewrite pow_O, Rmult_1_r.
  - rewrite Z.shiftr_div_pow2 by easy. replace (x * 2 ^ S r) with ((x + x) * 2 ^ r) by (cbn [pow]; ring).
    apply IH.
    + apply Z.div_pos; [nia|reflexivity].
    + rewrite exp_plus.
      assert (H0 : 0 <= IZR total / U).
      { apply Rmult_le_pos; [now apply IZR_le|left; now apply Rinv_0_lt_compat]. }
      apply Rle_trans with (IZR total / U * (IZR total / U)).
      * apply Rle_trans with (IZR (total * total) / U / U).
        -- apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|].
           now apply IZR_div_le.
        -- rewrite mult_IZR. right. field. lra.
      * now apply Rmult_le_compat.
Qed.

Lemma two128 : 2 ^ 128 = IZR (2 ^ EXP_BITS).
Proof. rewrite (pow_IZR 2 128). f_equal. Qed.

Lemma Rdiv_div s v q : v <> 0 -> q <> 0 -> s / v / q = s / (v * q).
Proof. intros. field. now split. Qed.

Lemma U_split : U = IZR (2 ^ (BITS - EXP_BITS)) * IZR (2 ^ EXP_BITS).
Proof. rewrite <- mult_IZR. reflexivity. Qed.

Theorem exp_below_sound (num den : Z) :
  (0 <= num)%Z -> (0 < den)%Z ->
  (0 <= exp_below num den)%Z /\ IZR (exp_below num den) / 2 ^ 128 <= exp (IZR num / IZR den).
Proof.
  intros Hnum Hden. pose proof U_pos as HU. unfold exp_below. rewrite Z.shiftr_div_pow2 by easy.
  set (T := taylor _ _ _ _ _ _).
  assert (HT0 : (0 <= T)%Z) by (apply taylor_nonneg; lia || reflexivity || easy).
  assert (HT : IZR T / U <= exp (IZR num / IZR (den * 2 ^ 8))).
  { apply (taylor_below num (den * 2 ^ 8) Hnum ltac:(lia) FUEL 0%nat); [easy| |].
    - unfold term. fold U. cbn [fact pow INR]. right. field. lra.
    - cbn [sum_f_R0]. unfold term. fold U. cbn [fact pow INR]. right. field. lra. }
  destruct (squarings_below 8 T _ HT0 HT) as [Hs0 Hs].
  split.
  - apply Z.div_pos; [assumption|reflexivity].
  - replace (IZR num / IZR den) with (IZR num / IZR (den * 2 ^ 8) * 2 ^ 8).
    + eapply Rle_trans; [|exact Hs].
      generalize dependent (squarings 8 T). intros S HS0 HS. rewrite two128.
      assert (HQ : 0 < IZR (2 ^ EXP_BITS)) by (apply IZR_pos; reflexivity).
      assert (HV : 0 < IZR (2 ^ (BITS - EXP_BITS))) by (apply IZR_pos; reflexivity).
      apply Rle_trans with (IZR S / IZR (2 ^ (BITS - EXP_BITS)) / IZR (2 ^ EXP_BITS)).
      * apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|].
        apply IZR_div_le. reflexivity.
      * right. rewrite U_split.
        apply Rdiv_div; lra.
    + rewrite mult_IZR. assert (IZR den <> 0) by (apply not_0_IZR; lia).
      change (IZR (2 ^ 8)%Z) with 256. replace (2 ^ 8) with 256 by ring. field. assumption.
Qed.

Lemma exp_le x y : x <= y -> exp x <= exp y.
Proof. intros [H|H]; [left; now apply exp_increasing|right; now subst]. Qed.

Theorem ratio_below_sound (en ed dn dd : Z) :
  (0 <= en)%Z -> (0 < ed)%Z -> (0 <= dn)%Z -> (0 < dd)%Z ->
  (0 <= ratio_below en ed dn dd)%Z /\
  IZR (ratio_below en ed dn dd) / 2 ^ 128 <= exp (IZR en / IZR ed * (IZR dn / IZR dd)).
Proof.
  intros He Hed Hd Hdd. unfold ratio_below.
  assert (Hed' := IZR_pos _ Hed). assert (Hdd' := IZR_pos _ Hdd).
  replace (IZR en / IZR ed * (IZR dn / IZR dd)) with (IZR (en * dn) / IZR (ed * dd))
    by (rewrite !mult_IZR; field; lra).
  destruct (en * dn <=? CAP * (ed * dd))%Z eqn:E.
  - apply exp_below_sound; nia.
  - apply Z.leb_gt in E. destruct (exp_below_sound CAP 1) as [H0 H]; [easy|easy|].
    split; [assumption|]. eapply Rle_trans; [exact H|]. apply exp_le.
    assert (Hdd2 : 0 < IZR (ed * dd)) by (apply IZR_pos; nia).
    apply Rmult_le_reg_r with (IZR (ed * dd)); [assumption|].
    unfold Rdiv. rewrite (Rmult_assoc (IZR (en * dn))), Rinv_l, Rmult_1_r, Rinv_1, Rmult_1_r by lra.
    rewrite <- mult_IZR. apply IZR_le. lia.
Qed.

(** * The fuel is never spent for exponents up to 64: the fixpoint is the Python loop itself. *)
Open Scope Z_scope.

Inductive loop (num den : Z) : Z -> Z -> Z -> Z -> Prop :=
| loop_stop k total : loop num den k 0 total total
| loop_step k t total result : t <> 0 ->
    loop num den (k + 1) (t * num / (den * (k + 1))) (total + t * num / (den * (k + 1))) result ->
    loop num den k t total result.

Lemma taylor_is_loop num den : 0 <= num -> 0 < den -> 4 * num <= den ->
  forall fuel k t total, 0 <= k -> 0 <= t < 4 ^ Z.of_nat fuel ->
  loop num den k t total (taylor (S fuel) num den k t total).
Proof.
  intros Hn Hd Hnd. induction fuel as [|fuel IH]; intros k t total Hk Ht.
  - cbn in Ht. assert (t = 0) as -> by lia. cbn. constructor.
  - cbn [taylor]. destruct (Z.eqb_spec t 0) as [->|Hne]; [constructor|].
    constructor; [assumption|]. apply IH; [lia|]. split.
    + apply Z.div_pos; nia.
    + apply Z.div_lt_upper_bound; [nia|].
      rewrite Nat2Z.inj_succ, Z.pow_succ_r in Ht by lia.
      assert (0 < 4 ^ Z.of_nat fuel) by (apply Z.pow_pos_nonneg; lia). nia.
Qed.

Theorem exp_below_is_loop num den : 0 <= num -> 0 < den -> num <= CAP * den ->
  exists total, loop num (den * 2 ^ 8) 0 (2 ^ BITS) (2 ^ BITS) total /\
    exp_below num den = Z.shiftr (squarings 8 total) (BITS - EXP_BITS).
Proof.
  intros. eexists. split; [|reflexivity]. unfold CAP in *.
  apply (taylor_is_loop num (den * 2 ^ 8) ltac:(lia) ltac:(lia) ltac:(lia) 99); [lia|].
  split; reflexivity || easy.
Qed.
