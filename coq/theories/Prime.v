(** Prime numbers by trial division, and inverses modulo a prime by Fermat's little theorem.

    is_prime_sound   a number that no smaller one divides, up to its square root, is prime
    fermat           a^(p - 1) = 1 modulo a prime p that does not divide a
    inverse_spec     hence a * a^(p - 2) = 1 *)
From Coq Require Import ZArith Znumtheory List Bool Lia Arith Permutation.
Import ListNotations.
Open Scope Z_scope.

Definition is_prime (n : Z) : bool :=
  (1 <? n) && forallb (fun d => negb (n mod Z.of_nat d =? 0)) (seq 2 (Z.to_nat (Z.sqrt n) - 1)).

Lemma is_prime_sound n : is_prime n = true -> prime n.
Proof.
  unfold is_prime. rewrite andb_true_iff, Z.ltb_lt, forallb_forall. intros [H1 H].
  assert (Small : forall d, 1 < d -> d * d <= n -> ~ (d | n)).
  { intros d Hd Hs Dv. assert (L : d <= Z.sqrt n) by (apply Z.sqrt_le_square; lia).
    specialize (H (Z.to_nat d) ltac:(apply in_seq; lia)). rewrite Z2Nat.id in H by lia.
    apply negb_true_iff, Z.eqb_neq in H. apply H. apply Z.mod_divide; [lia|assumption]. }
  apply prime_alt. split; [assumption|]. intros d Hd Dv. destruct Dv as [k E].
  assert (K : 1 < k) by nia. destruct (Z.le_gt_cases (d * d) n) as [L|L].
  - apply (Small d); [lia|assumption|]. now exists k.
  - apply (Small k); [lia|nia|]. exists d. lia.
Qed.

Section Field.
  Variable p : Z.
  Hypothesis p_prime : prime p.

  Lemma p_least : 2 <= p.
  Proof. now apply prime_ge_2. Qed.

  Lemma cancel a x y : 0 < a < p -> (a * x) mod p = (a * y) mod p -> x mod p = y mod p.
  Proof.
    intros Ha E. pose proof p_least. assert (D : (p | a * (x - y))).
    { apply Z.mod_divide; [lia|]. replace (a * (x - y)) with (a * x - a * y) by ring. rewrite Zminus_mod, E, Z.sub_diag. now apply Z.mod_0_l; lia. }
    apply Gauss in D; [|apply rel_prime_sym, rel_prime_le_prime; auto; lia].
    apply Z.mod_divide in D; [|lia].
    assert (x = y + (x - y) / p * p) as -> by (pose proof (Z.div_mod (x - y) p ltac:(lia)); lia).
    now rewrite Z.mod_add by lia.
  Qed.

  Definition product (l : list Z) : Z := fold_right Z.mul 1 l.

  Lemma product_permutation l l' : Permutation l l' -> product l = product l'.
  Proof. unfold product. induction 1; cbn [fold_right]; [reflexivity|congruence|ring|congruence]. Qed.

  Definition nonzeros : list Z := map Z.of_nat (seq 1 (Z.to_nat (p - 1))).

  Lemma in_nonzeros x : In x nonzeros <-> 0 < x < p.
  Proof.
    unfold nonzeros. rewrite in_map_iff. split.
    - intros (n & <- & Hn). apply in_seq in Hn. lia.
    - intro H. exists (Z.to_nat x). rewrite Z2Nat.id by lia. split; [reflexivity|]. apply in_seq. lia.
  Qed.

  Lemma nonzeros_nodup : NoDup nonzeros.
  Proof. apply FinFun.Injective_map_NoDup; [|apply seq_NoDup]. intros a b E. lia. Qed.

  (** Every factor scaled. *)
  Lemma product_scaled a l : product (map (fun i => a * i) l) = a ^ Z.of_nat (length l) * product l.
  Proof.
    induction l as [|x l IH]; [reflexivity|]. cbn [map length]. unfold product in *. cbn [fold_right]. rewrite IH.
    rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. ring.
  Qed.

  Lemma product_mod l : product (map (fun x => x mod p) l) mod p = product l mod p.
  Proof.
    pose proof p_least. induction l as [|x l IH]; [reflexivity|]. unfold product in *. cbn [map fold_right].
    rewrite Zmult_mod, IH, <- Zmult_mod. rewrite Zmult_mod_idemp_l. reflexivity.
  Qed.

  Lemma product_coprime : forall l, (forall x, In x l -> 0 < x < p) -> product l mod p <> 0.
  Proof.
    pose proof p_least. induction l as [|x l IH]; intro H'; unfold product in *; cbn [fold_right].
    - rewrite Z.mod_1_l; lia.
    - intro E. assert (Hx : 0 < x < p) by (apply H'; now left). apply IH; [intros; apply H'; now right|].
      rewrite <- (Z.mod_0_l p) by lia. apply (cancel x); [assumption|]. now rewrite E, Z.mul_0_r, Z.mod_0_l by lia.
  Qed.

  Theorem fermat a : 0 < a < p -> a ^ (p - 1) mod p = 1.
  Proof.
    intro Ha. pose proof p_least. set (l := nonzeros).
    assert (P : Permutation (map (fun i => (a * i) mod p) l) l).
    { apply NoDup_Permutation_bis.
      - assert (G : forall m, (forall x, In x m -> 0 < x < p) -> NoDup m -> NoDup (map (fun i => (a * i) mod p) m)).
        { induction m as [|x m IH]; intros Hm Nm; [constructor|]. inversion Nm; subst. cbn [map]. constructor.
          - intro I. apply in_map_iff in I as (y & E & Hy). apply cancel in E; [|assumption].
            assert (0 < x < p) by (apply Hm; now left). assert (0 < y < p) by (apply Hm; now right).
            rewrite !Z.mod_small in E by lia. congruence.
          - apply IH; [intros; apply Hm; now right|assumption]. }
        apply G; [intros; now apply in_nonzeros|apply nonzeros_nodup].
      - now rewrite map_length.
      - intros y Hy. apply in_map_iff in Hy as (x & <- & Hx). apply in_nonzeros in Hx. apply in_nonzeros.
        pose proof (Z.mod_pos_bound (a * x) p ltac:(lia)). assert (a * x mod p <> 0); [|lia]. intro E.
        rewrite <- (Z.mod_0_l p) in E by lia. rewrite <- (Z.mul_0_r a) in E. apply cancel in E; [|assumption].
        rewrite Z.mod_0_l, Z.mod_small in E; lia. }
    apply product_permutation in P.
    assert (E : (a ^ (p - 1) * product l) mod p = (1 * product l) mod p).
    { rewrite Z.mul_1_l. rewrite <- P at 2. rewrite <- (map_map (fun i => a * i) (fun x => x mod p)), product_mod, product_scaled.
      unfold l, nonzeros. rewrite map_length, seq_length, Z2Nat.id by lia. reflexivity. }
    assert (C : 0 < product l mod p < p).
    { pose proof (Z.mod_pos_bound (product l) p ltac:(lia)). pose proof (product_coprime l (fun x => proj1 (in_nonzeros x))). lia. }
    assert (F : a ^ (p - 1) mod p = 1 mod p); [|now rewrite F, Z.mod_1_l by lia].
    apply (cancel (product l mod p)); [assumption|]. rewrite !Zmult_mod_idemp_l.
    rewrite (Z.mul_comm _ (a ^ (p - 1))), (Z.mul_comm _ 1). exact E.
  Qed.

  (** The inverse as Python computes it: pow(a, p - 2, p). *)
  Definition inverse (a : Z) : Z := a ^ (p - 2) mod p.

  Lemma inverse_spec a : 0 < a < p -> (a * inverse a) mod p = 1 /\ 0 < inverse a < p.
  Proof.
    intro Ha. pose proof p_least. unfold inverse.
    assert (E : (a * (a ^ (p - 2) mod p)) mod p = 1).
    { rewrite Zmult_mod_idemp_r, <- Z.pow_succ_r by lia. replace (Z.succ (p - 2)) with (p - 1) by lia. now apply fermat. }
    split; [exact E|]. pose proof (Z.mod_pos_bound (a ^ (p - 2)) p ltac:(lia)).
    destruct (Z.eq_dec (a ^ (p - 2) mod p) 0) as [Z0|]; [|lia]. rewrite Z0, Z.mul_0_r, Z.mod_0_l in E; lia.
  Qed.
End Field.
