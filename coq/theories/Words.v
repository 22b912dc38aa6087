(** Reports that are read off equally likely words 0 .. n - 1: how many of the words lead to each.

    drawn_distribution   the shares of the words are a distribution, wherever every word leads to some report
    quotient_hits        of the words below s * c, each of the s quotients by c has c
    residue_hits         of any n words, each residue modulo s has n / s, or one more *)
From Coq Require Import ZArith Reals List Bool Lra Lia Arith.
From Inbounds Require Import Exp Privacy Matrix Alias.
Import ListNotations.
Open Scope Z_scope.

(** How many of n words have a property. *)
Definition hits (n : nat) (f : nat -> bool) : Z := sum n (fun word => if f word then 1 else 0).

(** All words of 62 bits. Their number is sealed, so that nothing tries to write it in unary. *)
Lemma words_exist : {n : nat | Z.of_nat n = TOTAL}.
Proof. exists (Z.to_nat TOTAL). now rewrite Z2Nat.id. Qed.

Definition WORDS : nat := proj1_sig words_exist.

Lemma words_total : Z.of_nat WORDS = TOTAL.
Proof. exact (proj2_sig words_exist). Qed.

Lemma hits_ext n f g : (forall u, (u < n)%nat -> f u = g u) -> hits n f = hits n g.
Proof. intro H. apply sum_ext. intros u Hu. now rewrite H. Qed.

Lemma hits_pos n f : 0 <= hits n f.
Proof. unfold hits. induction n as [|n IH]; cbn [sum]; [lia|]. destruct (f n); lia. Qed.

Lemma hits_all n : hits n (fun _ => true) = Z.of_nat n.
Proof. unfold hits. induction n as [|n IH]; cbn [sum]; [reflexivity|]. rewrite IH. lia. Qed.

Lemma hits_none n : hits n (fun _ => false) = 0.
Proof. apply sum_zero. Qed.

Lemma sum_split a b f : sum (a + b) f = sum a f + sum b (fun u => f (a + u)%nat).
Proof.
  induction b as [|b IH]; cbn [sum]; [rewrite Nat.add_0_r; lia|].
  rewrite Nat.add_succ_r. cbn [sum]. rewrite IH. lia.
Qed.

Lemma hits_split a b f : hits (a + b) f = hits a f + hits b (fun u => f (a + u)%nat).
Proof. apply sum_split. Qed.

Lemma hits_below n a : (a <= n)%nat -> hits n (fun u => u <? a)%nat = Z.of_nat a.
Proof.
  intro H. replace n with (a + (n - a))%nat by lia. rewrite hits_split.
  rewrite (hits_ext a _ (fun _ => true)), hits_all.
  - rewrite (hits_ext (n - a) _ (fun _ => false)), hits_none; [lia|]. intros u _. apply Nat.ltb_ge. lia.
  - intros u Hu. now apply Nat.ltb_lt.
Qed.

(** Of the words below s * c, each quotient by c has c. *)
Lemma quotient_hits c i : forall s, (i < s)%nat -> hits (s * c) (fun u => u / c =? i)%nat = Z.of_nat c.
Proof.
  destruct c as [|c]; [intros s _; rewrite Nat.mul_0_r; reflexivity|].
  assert (Q : forall s u, (u < S c)%nat -> ((s * S c + u) / S c = s)%nat).
  { intros s u Hu. rewrite Nat.add_comm, Nat.div_add, Nat.div_small by lia. reflexivity. }
  assert (O : forall s, (s <= i)%nat -> hits (s * S c) (fun u => u / S c =? i)%nat = 0).
  { intros s Hs. rewrite <- (hits_none (s * S c)). apply hits_ext. intros u Hu. apply Nat.eqb_neq.
    assert (u / S c < s)%nat by (apply Nat.div_lt_upper_bound; lia). lia. }
  induction s as [|s IH]; intro Hi; [lia|]. replace (S s * S c)%nat with (s * S c + S c)%nat by lia. rewrite hits_split.
  rewrite (hits_ext (S c) _ (fun _ => s =? i)%nat) by (intros u Hu; now rewrite Q).
  destruct (Nat.eqb_spec s i) as [->|Ne].
  - rewrite O, hits_all by lia. lia.
  - rewrite IH, hits_none by lia. lia.
Qed.

(** Of n words, each residue modulo s has n / s, or one more. *)
Lemma residue_hits n s i : (i < s)%nat ->
  Z.of_nat n / Z.of_nat s <= hits n (fun u => u mod s =? i)%nat <= - (- Z.of_nat n / Z.of_nat s).
Proof.
  intro Hi.
  assert (R : forall b u, (u < s)%nat -> ((b * s + u) mod s = u)%nat).
  { intros b u Hu. rewrite Nat.add_comm, Nat.mod_add, Nat.mod_small by lia. reflexivity. }
  assert (One : forall b r, (r <= s)%nat -> hits r (fun u => (b * s + u) mod s =? i)%nat = if (i <? r)%nat then 1 else 0).
  { intros b r Hr. rewrite (hits_ext r _ (fun u => u =? i)%nat) by (intros u Hu; rewrite R by lia; reflexivity).
    destruct (Nat.ltb_spec i r) as [L|L].
    - unfold hits. now apply sum_single.
    - rewrite <- (hits_none r). apply hits_ext. intros u Hu. apply Nat.eqb_neq. lia. }
  assert (Whole : forall b, hits (b * s) (fun u => u mod s =? i)%nat = Z.of_nat b).
  { induction b as [|b IH]; [reflexivity|]. replace (S b * s)%nat with (b * s + s)%nat by lia.
    rewrite hits_split, IH, One by lia. destruct (Nat.ltb_spec i s); lia. }
  pose proof (Nat.div_mod n s ltac:(lia)) as D. set (b := (n / s)%nat) in *. set (r := (n mod s)%nat) in *.
  assert (Hr : (r < s)%nat) by (apply Nat.mod_upper_bound; lia).
  rewrite D. replace (s * b + r)%nat with (b * s + r)%nat by lia. rewrite hits_split, Whole, One by lia.
  rewrite Nat2Z.inj_add, Nat2Z.inj_mul.
  assert (Lo : (Z.of_nat b * Z.of_nat s + Z.of_nat r) / Z.of_nat s = Z.of_nat b).
  { symmetry. apply Z.div_unique with (Z.of_nat r); lia. }
  rewrite Lo. destruct (Nat.ltb_spec i r) as [L|L].
  - assert (Up : - (Z.of_nat b * Z.of_nat s + Z.of_nat r) / Z.of_nat s = - Z.of_nat b - 1).
    { symmetry. apply Z.div_unique with (Z.of_nat s - Z.of_nat r); lia. }
    rewrite Up. lia.
  - assert (Up : - (Z.of_nat b * Z.of_nat s + Z.of_nat r) / Z.of_nat s <= - Z.of_nat b).
    { apply Z.div_le_upper_bound; lia. }
    lia.
Qed.

(** * The mechanism of a sampler *)
Open Scope R_scope.

(** Word u, of n, leads under the input a to the report [report a u]. *)
Definition drawn {A} (n : nat) (reports : nat) (report : A -> nat -> nat) : mechanism A nat :=
  Mechanism (seq 0 reports) (fun a i => IZR (hits n (fun u => report a u =? i)%nat) / INR n).

Lemma sum_over_reports n reports (r : nat -> nat) T : (forall u, (u < n)%nat -> (r u < reports)%nat) ->
  rsum (seq 0 reports) (fun i => IZR (hits n (fun u => r u =? i)%nat) / T) = INR n / T.
Proof.
  induction n as [|n IH]; intro H.
  - transitivity (rsum (seq 0 reports) (fun _ : nat => 0)); [|cbn [INR]].
    + apply rsum_ext. intros i _. cbn. unfold Rdiv. ring.
    + induction (seq 0 reports) as [|i l L]; cbn; [unfold Rdiv; ring|]. rewrite L. unfold Rdiv. ring.
  - rewrite S_INR. replace ((INR n + 1) / T) with (INR n / T + 1 / T) by (unfold Rdiv; ring).
    rewrite <- IH by (intros; apply H; lia). clear IH. specialize (H n ltac:(lia)).
    transitivity (rsum (seq 0 reports) (fun i => IZR (hits n (fun u => r u =? i)%nat) / T)
                  + rsum (seq 0 reports) (fun i => (if (r n =? i)%nat then 1 else 0) / T)).
    + induction (seq 0 reports) as [|i l L]; cbn [rsum]; [ring|]. rewrite L. unfold hits. cbn [sum]. rewrite plus_IZR.
      destruct (r n =? i)%nat; unfold Rdiv; ring.
    + f_equal.
      assert (G : forall k s, (s <= r n < s + k)%nat -> rsum (seq s k) (fun i => (if (r n =? i)%nat then 1 else 0) / T) = 1 / T).
      { assert (Z : forall k s, (r n < s)%nat -> rsum (seq s k) (fun i => (if (r n =? i)%nat then 1 else 0) / T) = 0).
        { induction k as [|k IH]; intros s Hs; cbn [seq rsum]; [reflexivity|]. rewrite IH by lia.
          destruct (Nat.eqb_spec (r n) s); [lia|]. unfold Rdiv. ring. }
        induction k as [|k IH]; intros s Hs; [lia|]. cbn [seq rsum]. destruct (Nat.eqb_spec (r n) s) as [E|E].
        - rewrite Z by lia. ring.
        - rewrite IH by lia. unfold Rdiv. ring. }
      apply G. lia.
Qed.

Theorem drawn_distribution {A} n reports (report : A -> nat -> nat) a : (0 < n)%nat ->
  (forall u, (u < n)%nat -> (report a u < reports)%nat) -> distribution (drawn n reports report) a.
Proof.
  intros Hn H. assert (N : 0 < INR n) by (apply lt_0_INR; assumption). split.
  - intro i. cbn. apply Rmult_le_pos; [apply IZR_le, hits_pos|]. left. now apply Rinv_0_lt_compat.
  - unfold Pr. cbn [drawn outs mass]. cbv beta iota. rewrite sum_over_reports by assumption. field. lra.
Qed.
