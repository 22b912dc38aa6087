(** The roundings of a sampler that computes with positive floats: how far each chance is from the exact one.

    A rounded number lies within 1 - u and 1 + u of the exact one, u = 2^-53. [near k a b]: a and b are at most k
    roundings apart. Sums, products and quotients of near numbers are near (near_sum, near_product, near_quotient).

    pick_near      a leaf of a tree of rounded sums, found by coins: its chance is near its share
    chain_near     a chain of picks backward through rounded sums forward: its chance is near its share of all chains
    rounding_paid  2^24 roundings change a chance by a factor within 1 - 2^-28 and 1 + 2^-28
    sums_counted, coin_counted, picks_counted, stage_counted
                   how many roundings one stage has, from the sums, products and quotients that it computes *)
From Coq Require Import ZArith Reals List Lra Lia Psatz Arith Bool.
From Inbounds Require Import Privacy.
Import ListNotations.
Open Scope R_scope.

Section Rounding.
  Variable u : R.
  Hypothesis u_range : 0 < u < 1.

  Definition g : R := / (1 - u).

  Lemma g_one : 1 <= g.
  Proof. unfold g. rewrite <- Rinv_1. apply Rinv_le_contravar; lra. Qed.

  Lemma g_pow_one k : 1 <= g ^ k.
  Proof. apply pow_R1_Rle, g_one. Qed.

  Lemma g_grows k l : (k <= l)%nat -> g ^ k <= g ^ l.
  Proof. intro H. apply Rle_pow; [apply g_one|assumption]. Qed.

  Definition near (k : nat) (a b : R) : Prop := 0 <= a /\ 0 <= b /\ a <= g ^ k * b /\ b <= g ^ k * a.

  (** One rounding. *)
  Lemma near_round a b : 0 <= a -> (1 - u) * a <= b <= (1 + u) * a -> near 1 a b.
  Proof.
    intros A [L U]. unfold near. rewrite pow_1. unfold g.
    assert (I : 1 + u <= / (1 - u)).
    { apply Rmult_le_reg_r with (1 - u); [lra|]. rewrite Rinv_l by lra. nra. }
    assert (P : 0 < / (1 - u)) by (apply Rinv_0_lt_compat; lra).
    repeat split; [assumption|nra| |nra].
    apply Rmult_le_reg_l with (1 - u); [lra|]. rewrite <- Rmult_assoc, Rinv_r by lra. lra.
  Qed.

  Lemma near_same k a : 0 <= a -> near k a a.
  Proof. intro A. pose proof (g_pow_one k). repeat split; nra. Qed.

  Lemma near_more k l a b : (k <= l)%nat -> near k a b -> near l a b.
  Proof. intros H (A & B & C & D). pose proof (g_grows k l H). repeat split; nra. Qed.

  Lemma near_back k a b : near k a b -> near k b a.
  Proof. unfold near. tauto. Qed.

  Lemma near_step k l a b c : near k a b -> near l b c -> near (k + l) a c.
  Proof.
    intros (A & B & C & D) (_ & E & F & G). pose proof (g_pow_one k). pose proof (g_pow_one l).
    unfold near. rewrite pow_add. repeat split; try assumption.
    - apply Rle_trans with (1 := C). rewrite Rmult_assoc. apply Rmult_le_compat_l; [lra|exact F].
    - apply Rle_trans with (1 := G). rewrite (Rmult_comm (g ^ k)), Rmult_assoc. apply Rmult_le_compat_l; [lra|exact D].
  Qed.

  Lemma near_sum k a b a' b' : near k a b -> near k a' b' -> near k (a + a') (b + b').
  Proof. intros (A & B & C & D) (A' & B' & C' & D'). repeat split; lra. Qed.

  Lemma near_product k l a b c d : near k a b -> near l c d -> near (k + l) (a * c) (b * d).
  Proof.
    intros (A & B & C & D) (A' & B' & C' & D'). pose proof (g_pow_one k). pose proof (g_pow_one l).
    unfold near. rewrite pow_add. repeat split; try (apply Rmult_le_pos; assumption).
    - replace (g ^ k * g ^ l * (b * d)) with ((g ^ k * b) * (g ^ l * d)) by ring. apply Rmult_le_compat; assumption.
    - replace (g ^ k * g ^ l * (a * c)) with ((g ^ k * a) * (g ^ l * c)) by ring. apply Rmult_le_compat; assumption.
  Qed.

  Lemma near_inverse k a b : 0 < a -> near k a b -> near k (/ a) (/ b).
  Proof.
    intros P (A & B & C & D). pose proof (g_pow_one k) as G.
    assert (Q : 0 < b) by (destruct B as [B|B]; [assumption|subst b; lra]).
    repeat split; try (left; now apply Rinv_0_lt_compat).
    - apply Rmult_le_reg_r with a; [assumption|]. rewrite Rinv_l by lra. apply Rmult_le_reg_r with b; [assumption|].
      replace (g ^ k * / b * a * b) with (g ^ k * a) by (field; lra). lra.
    - apply Rmult_le_reg_r with b; [assumption|]. rewrite Rinv_l by lra. apply Rmult_le_reg_r with a; [assumption|].
      replace (g ^ k * / a * b * a) with (g ^ k * b) by (field; lra). lra.
  Qed.

  Lemma near_quotient k l a b c d : 0 < c -> near k a b -> near l c d -> near (k + l) (a / c) (b / d).
  Proof. intros P H H'. unfold Rdiv. apply near_product; [assumption|]. now apply near_inverse. Qed.

  Lemma near_zero k b : near k 0 b -> b = 0.
  Proof. intros (_ & B & _ & D). lra. Qed.

  (** * A coin *)
  (** The chance of the rarer side is computed; the other side has what is left. *)
  Lemma coin_sides k r c : r <= 1 / 2 -> g ^ k <= 3 / 2 -> near k r c -> near (2 * k) (1 - r) (1 - c).
  Proof.
    intros H G (A & B & C & D). pose proof (g_pow_one k) as O. set (z := g ^ k) in *.
    unfold near. replace (2 * k)%nat with (k + k)%nat by lia. rewrite pow_add. fold z.
    assert (E : z * r <= 3 / 4) by nra. repeat split; try lra.
    - apply Rle_trans with (z * z * (1 - z * r)); [|apply Rmult_le_compat_l; nra].
      assert (0 <= (z - 1) * ((z + 1) - r * (z * z + z + 1))); [|nra]. apply Rmult_le_pos; [lra|]. nra.
    - apply Rle_trans with (z * z * (1 - r)); [|lra].
      assert (F : r <= z * c) by exact C. assert (r - c <= (z - 1) * c) by lra. nra.
  Qed.

  (** * Picking a leaf by coins down a tree of sums *)
  Inductive tree := leaf (w : R) | node (sum to_left to_right : R) (left right : tree).

  Definition root (t : tree) : R := match t with leaf w => w | node s _ _ _ _ => s end.

  (** Every sum is one rounding of those below; the chances of a coin are within q roundings of the shares. *)
  Fixpoint computed (q : nat) (t : tree) : Prop :=
    match t with
    | leaf w => 0 <= w
    | node s to_left to_right l r =>
        computed q l /\ computed q r /\ near 1 (root l + root r) s /\
        (0 < root l + root r ->
         near q (root l / (root l + root r)) to_left /\ near q (root r / (root l + root r)) to_right)
    end.

  Fixpoint height (t : tree) : nat := match t with leaf _ => 0 | node _ _ _ l r => S (Nat.max (height l) (height r)) end.
  Fixpoint total (t : tree) : R := match t with leaf w => w | node _ _ _ l r => total l + total r end.
  Fixpoint value (t : tree) (p : list bool) : R :=
    match t, p with
    | leaf w, [] => w
    | node _ _ _ l r, b :: p' => value (if b then r else l) p'
    | _, _ => 0
    end.
  Fixpoint chance (t : tree) (p : list bool) : R :=
    match t, p with
    | leaf _, [] => 1
    | node _ a b l r, c :: p' => (if c then b else a) * chance (if c then r else l) p'
    | _, _ => 0
    end.

  Lemma root_near q t : computed q t -> near (height t) (total t) (root t).
  Proof.
    induction t as [w|s a b l IHl r IHr]; cbn [computed height total root]; [apply near_same|].
    intros (L & Rr & H & _). replace (S (Nat.max (height l) (height r))) with (Nat.max (height l) (height r) + 1)%nat by lia.
    apply near_step with (2 := H). apply near_sum.
    - apply near_more with (height l); [lia|auto].
    - apply near_more with (height r); [lia|auto].
  Qed.

  Lemma root_nonneg q t : computed q t -> 0 <= root t.
  Proof. intro H. apply (root_near q t H). Qed.

  Lemma empty q t : computed q t -> root t = 0 -> forall p, value t p = 0.
  Proof.
    induction t as [w|s a b l IHl r IHr]; cbn [computed root value]; intros H E p; [destruct p; auto|].
    destruct H as (L & Rr & H & _). subst s. apply near_back, near_zero in H.
    pose proof (root_nonneg q l L). pose proof (root_nonneg q r Rr). destruct p as [|c p]; [reflexivity|].
    destruct c; [apply IHr|apply IHl]; auto; lra.
  Qed.

  (** A side of a node: its share times the chance within it. *)
  Lemma side q n s t p rest c : computed q t -> 0 <= rest -> near 1 (root t + rest) s -> 0 < s ->
    near q (root t / (root t + rest)) c -> (0 < root t -> near n (value t p / root t) (chance t p)) -> 0 <= chance t p ->
    near (q + 1 + n) (value t p / s) (c * chance t p).
  Proof.
    intros T Hr Hs Ps Hc IH Hp. pose proof (root_nonneg q t T) as [P|Z].
    - specialize (IH P).
      assert (A : near (q + 1) (root t / s) c).
      { replace (q + 1)%nat with (1 + q)%nat by lia. apply near_step with (2 := Hc).
        replace 1%nat with (0 + 1)%nat by lia. apply near_quotient; [exact Ps|apply near_same; lra|now apply near_back]. }
      replace (value t p / s) with (root t / s * (value t p / root t)) by (field; lra). now apply near_product.
    - rewrite (empty q t T (eq_sym Z) p). rewrite <- Z in Hc. unfold Rdiv in Hc. rewrite Rmult_0_l in Hc.
      apply near_zero in Hc. subst c. unfold Rdiv. rewrite !Rmult_0_l. apply near_same. lra.
  Qed.

  Lemma chance_nonneg q t : computed q t -> (0 < root t -> forall p, 0 <= chance t p).
  Proof.
    induction t as [w|s a b l IHl r IHr]; cbn [computed root chance]; intros H P p; [destruct p; lra|].
    destruct H as (L & Rr & H & C). destruct p as [|c p]; [lra|].
    pose proof (root_nonneg q l L) as Ol. pose proof (root_nonneg q r Rr) as Or.
    assert (Q : 0 < root l + root r).
    { destruct (Rle_lt_or_eq_dec 0 (root l + root r) ltac:(lra)) as [Q|Q]; [exact Q|]. rewrite <- Q in H. apply near_zero in H. lra. }
    destruct (C Q) as [A B].
    destruct c.
    - destruct Or as [Or|Or]; [apply Rmult_le_pos; [apply B|auto]|].
      rewrite <- Or in B. unfold Rdiv in B. rewrite Rmult_0_l in B. apply near_zero in B. subst b. lra.
    - destruct Ol as [Ol|Ol]; [apply Rmult_le_pos; [apply A|auto]|].
      rewrite <- Ol in A. unfold Rdiv in A. rewrite Rmult_0_l in A. apply near_zero in A. subst a. lra.
  Qed.

  Theorem pick_near q t p : computed q t -> 0 < root t -> near ((q + 1) * height t) (value t p / root t) (chance t p).
  Proof.
    revert p. induction t as [w|s a b l IHl r IHr]; cbn [computed root height value chance]; intros p H P.
    - destruct p; [|unfold Rdiv; rewrite Rmult_0_l; apply near_same; lra].
      replace (w / w) with 1 by (field; lra). apply near_same. lra.
    - destruct H as (L & Rr & H & C). destruct p as [|c p]; [unfold Rdiv; rewrite Rmult_0_l; apply near_same; lra|].
      pose proof (root_nonneg q l L) as Ol. pose proof (root_nonneg q r Rr) as Or.
      assert (Q : 0 < root l + root r).
      { destruct (Rle_lt_or_eq_dec 0 (root l + root r) ltac:(lra)) as [Q|Q]; [exact Q|]. rewrite <- Q in H. apply near_zero in H. lra. }
      destruct (C Q) as [A B].
      destruct c.
      + destruct Or as [Or|Or].
        * apply near_more with (q + 1 + (q + 1) * height r)%nat; [nia|].
          apply side with (rest := root l); try assumption; rewrite ?(Rplus_comm (root r)); auto.
          apply (chance_nonneg q r Rr Or).
        * rewrite <- Or in B. unfold Rdiv in B. rewrite Rmult_0_l in B. apply near_zero in B. subst b.
          rewrite (empty q r Rr (eq_sym Or)). unfold Rdiv. rewrite !Rmult_0_l. apply near_same. lra.
      + destruct Ol as [Ol|Ol].
        * apply near_more with (q + 1 + (q + 1) * height l)%nat; [nia|].
          apply side with (rest := root r); try assumption; auto. apply (chance_nonneg q l L Ol).
        * rewrite <- Ol in A. unfold Rdiv in A. rewrite Rmult_0_l in A. apply near_zero in A. subst a.
          rewrite (empty q l L (eq_sym Ol)). unfold Rdiv. rewrite !Rmult_0_l. apply near_same. lra.
  Qed.

  (** * Chains: weights forward, picks backward *)
  Section Chain.
    Context {state : Type}.
    Variables (states : list state) (first computed_first : state -> R).

    (** One stage: the exact weight of each move, the computed sums behind it, and the computed chance of each pick. *)
    Record stage := { move : state -> state -> R; sums : state -> R; pick : state -> state -> R }.

    (** Stages are listed from the last. *)
    Fixpoint forward (stages : list stage) : state -> R :=
      match stages with [] => first | m :: earlier => fun t => rsum states (fun s => forward earlier s * move m s t) end.
    Definition computed_sums (stages : list stage) : state -> R := match stages with [] => computed_first | m :: _ => sums m end.
    Fixpoint ways (stages : list stage) (t : state) (chain : list state) : R :=
      match stages, chain with
      | [], [] => first t
      | m :: earlier, s :: rest => move m s t * ways earlier s rest
      | _, _ => 0
      end.
    Fixpoint picks (stages : list stage) (t : state) (chain : list state) : R :=
      match stages, chain with
      | [], [] => 1
      | m :: earlier, s :: rest => pick m s t * picks earlier s rest
      | _, _ => 0
      end.

    (** Sums and picks are within k roundings of those of the computed sums of the stage before. *)
    Fixpoint within (k : nat) (stages : list stage) : Prop :=
      match stages with
      | [] => forall s, near k (first s) (computed_first s)
      | m :: earlier =>
          within k earlier /\ (forall s t, 0 <= move m s t) /\
          forall t, let all := rsum states (fun s => computed_sums earlier s * move m s t) in
                    near k all (sums m t) /\
                    (0 < all -> forall s, near k (computed_sums earlier s * move m s t / all) (pick m s t))
      end.

    Lemma near_rsum k l f f' : (forall o : state, In o l -> near k (f o) (f' o)) -> near k (rsum l f) (rsum l f').
    Proof.
      induction l as [|o l IH]; cbn [rsum]; intro H; [apply near_same; lra|].
      apply near_sum; [apply H; now left|apply IH; intros; apply H; now right].
    Qed.

    Lemma sums_near k stages : within k stages ->
      forall t, near (k * S (length stages)) (forward stages t) (computed_sums stages t).
    Proof.
      induction stages as [|m earlier IH]; cbn [within forward computed_sums length]; intros H t.
      - rewrite Nat.mul_1_r. apply H.
      - destruct H as (W & M & H). destruct (H t) as [A _].
        replace (k * S (S (length earlier)))%nat with (k * S (length earlier) + k)%nat by lia.
        apply near_step with (2 := A). apply near_rsum. intros s _.
        replace (k * S (length earlier))%nat with (k * S (length earlier) + 0)%nat by lia.
        apply near_product; [now apply IH|apply near_same, M].
    Qed.

    Lemma in_rsum f l (o : state) : (forall x, 0 <= f x) -> In o l -> f o <= rsum l f.
    Proof.
      intros P. induction l as [|x l IH]; cbn [rsum In]; [tauto|]. intros [->|H].
      - assert (0 <= rsum l f) by (apply rsum_nonneg; auto). lra.
      - specialize (IH H). specialize (P x). lra.
    Qed.

    (** A chain is drawn with a chance near its share of all chains to the same end. *)
    Theorem chain_near k stages : within k stages -> forall t chain, Forall (fun s => In s states) chain ->
      0 < ways stages t chain ->
      near (length stages * (k + 2 * (k * S (length stages)))) (ways stages t chain / forward stages t) (picks stages t chain).
    Proof.
      induction stages as [|m earlier IH]; intros H t chain I P.
      - destruct chain; cbn [ways forward picks length] in *; [|lra].
        replace (first t / first t) with 1 by (field; lra). apply near_same. lra.
      - destruct chain as [|s rest]; cbn [ways forward picks length] in *; [lra|]. destruct H as (W & M & H).
        inversion I as [|? ? Is Ir]; subst. destruct (H t) as [_ B]. clear H.
        set (exact := rsum states (fun s => forward earlier s * move m s t)).
        set (all := rsum states (fun s => computed_sums earlier s * move m s t)) in *. cbv zeta in B.
        pose proof (sums_near k earlier W) as N.
        assert (Pm : 0 < move m s t /\ 0 < ways earlier s rest).
        { specialize (M s t). destruct M as [M|M]; [|rewrite <- M in P; lra]. split; [assumption|].
          apply Rmult_lt_reg_l with (move m s t); [assumption|]. lra. }
        destruct Pm as [Pm Pw]. specialize (IH W s rest Ir Pw).
        assert (NE : near (k * S (length earlier)) exact all).
        { apply near_rsum. intros o _. replace (k * S (length earlier))%nat with (k * S (length earlier) + 0)%nat by lia.
          apply near_product; [apply N|apply near_same, M]. }
        assert (Pf : 0 < forward earlier s).
        { destruct (N s) as ([F|F] & _); [exact F|]. exfalso. destruct IH as (IH & _).
          assert (ways earlier s rest <= 0); [|lra]. clear - u_range F Pw W M Ir.
          revert s rest F Pw Ir. induction earlier as [|m' e IHe]; intros s rest F Pw Ir.
          - destruct rest; cbn [ways forward] in *; lra.
          - destruct rest as [|s' rest]; cbn [ways forward within] in *; [lra|]. destruct W as (W & M' & _).
            inversion Ir as [|? ? Is' Ir']; subst.
            assert (Pm' : 0 < move m' s' s) by (destruct (M' s' s) as [Q|Q]; [exact Q|rewrite <- Q in Pw; lra]).
            assert (Pw' : 0 < ways e s' rest) by (apply Rmult_lt_reg_l with (move m' s' s); lra).
            assert (Nf : forall o, 0 <= forward e o) by (intro o; apply (sums_near k e W o)).
            assert (Z : forward e s' * move m' s' s <= 0).
            { rewrite F. apply (in_rsum (fun o => forward e o * move m' o s)); [|exact Is']. intro o. apply Rmult_le_pos; auto. }
            assert (forward e s' = 0) by (specialize (Nf s'); nra).
            assert (ways e s' rest <= 0) by (apply (IHe W) with (1 := eq_sym H) (2 := Pw') (3 := Ir')). lra. }
        assert (Pe : 0 < exact).
        { apply Rlt_le_trans with (forward earlier s * move m s t); [now apply Rmult_lt_0_compat|].
          apply (in_rsum (fun s => forward earlier s * move m s t)); [|exact Is]. intro o. apply Rmult_le_pos; [apply N|apply M]. }
        assert (Pa : 0 < all).
        { destruct NE as (_ & [A|A] & C & _); [exact A|]. rewrite <- A in C. lra. }
        assert (E : near (k + 2 * (k * S (length earlier))) (forward earlier s * move m s t / exact) (pick m s t)).
        { replace (k + 2 * (k * S (length earlier)))%nat with (k * S (length earlier) + k * S (length earlier) + k)%nat by lia.
          apply near_step with (2 := B Pa s). apply near_quotient; [exact Pe| |exact NE].
          replace (k * S (length earlier))%nat with (k * S (length earlier) + 0)%nat by lia.
          apply near_product; [apply N|apply near_same; lra]. }
        replace (move m s t * ways earlier s rest / exact)
          with (forward earlier s * move m s t / exact * (ways earlier s rest / forward earlier s)) by (field; lra).
        apply near_more with (k + 2 * (k * S (length earlier)) + length earlier * (k + 2 * (k * S (length earlier))))%nat; [nia|].
        now apply near_product.
    Qed.
  End Chain.
End Rounding.

(** * What the checker pays for *)
Lemma bernoulli u n : 0 < u < 1 -> 1 - INR n * u <= (1 - u) ^ n.
Proof.
  intro H. induction n as [|n IH]; [cbn; lra|]. rewrite S_INR. cbn [pow].
  assert (P : 0 <= INR n) by apply pos_INR. apply Rle_trans with ((1 - u) * (1 - INR n * u)); [nra|].
  apply Rmult_le_compat_l; lra.
Qed.

(** If all roundings together are a 2^-29th, a chance is within 1 - 2^-28 and 1 + 2^-28 of the exact one. *)
Theorem rounding_paid u n a b : 0 < u < 1 -> INR n * u <= / 2 ^ 29 -> near u n a b ->
  (1 - / 2 ^ 28) * a <= b <= (1 + / 2 ^ 28) * a.
Proof.
  intros U H (A & B & C & D). pose proof (bernoulli u n U) as L. pose proof (g_pow_one u U n) as O.
  assert (E : g u ^ n * (1 - u) ^ n = 1).
  { rewrite <- Rpow_mult_distr. unfold g. rewrite Rinv_l by lra. apply pow1. }
  set (z := g u ^ n) in *. set (y := (1 - u) ^ n) in *.
  assert (T : / 2 ^ 29 = / 536870912) by (f_equal; lra). assert (T' : / 2 ^ 28 = / 268435456) by (f_equal; lra).
  rewrite T in H. rewrite T'.
  assert (Y : 1 - / 536870912 <= y) by lra. assert (Z : z <= 1 + / 268435456).
  { apply Rmult_le_reg_r with y; [lra|]. rewrite E. apply Rle_trans with ((1 + / 268435456) * (1 - / 536870912)); [lra|].
    apply Rmult_le_compat_l; lra. }
  split; [|apply Rle_trans with (1 := D); apply Rmult_le_compat_r; assumption].
  apply Rle_trans with (y * a).
  - apply Rmult_le_compat_r; [assumption|lra].
  - apply Rle_trans with (y * (z * b)); [apply Rmult_le_compat_l; [lra|assumption]|]. rewrite <- Rmult_assoc, (Rmult_comm y), E. lra.
Qed.

(** A draw of m quantiles: one stage a rank, the choice of the end with them, and a coin for the truth. A stage has at most
    5 (n + values) + 224 roundings: 2 for each level, one for each term of a sum, 9 for each of at most 24 coins. *)
Definition roundings (m k : nat) : nat := m * (k + 2 * (k * S m)) + k * S m.

Theorem roundings_fit m size values k :
  (Z.of_nat (S m) * Z.of_nat (S m) * (Z.of_nat size + Z.of_nat values + 64) <= 2 ^ 20)%Z ->
  (k <= 5 * (size + values) + 224)%nat -> INR (roundings m k) * / 2 ^ 53 <= / 2 ^ 29.
Proof.
  intros F K. assert (A : (Z.of_nat (roundings m k) <= 2 ^ 24)%Z).
  { unfold roundings. rewrite !Nat2Z.inj_add, !Nat2Z.inj_mul, !Nat2Z.inj_add, !Nat2Z.inj_mul, !Nat2Z.inj_succ in *.
    apply inj_le in K. rewrite Nat2Z.inj_add, Nat2Z.inj_mul, Nat2Z.inj_add in K.
    set (M := Z.of_nat m) in *. set (N := (Z.of_nat size + Z.of_nat values)%Z) in *. set (Q := Z.of_nat k) in *.
    assert (0 <= M /\ 0 <= N /\ 0 <= Q)%Z by (unfold M, N, Q; lia). change (Z.of_nat 5) with 5%Z in K. change (Z.of_nat 224) with 224%Z in K.
    change (Z.of_nat 2) with 2%Z.
    assert (E : (M * (Q + 2 * (Q * Z.succ M)) + Q * Z.succ M <= 2 * (Z.succ M * Z.succ M) * Q)%Z) by nia.
    assert (E' : (2 * (Z.succ M * Z.succ M) * Q <= 10 * (Z.succ M * Z.succ M * (N + 64)))%Z) by nia.
    lia. }
  apply IZR_le in A. rewrite <- INR_IZR_INZ in A.
  assert (T : IZR (2 ^ 24) = 2 ^ 24) by (change (2 ^ 24)%Z with (2 ^ Z.of_nat 24)%Z; now rewrite <- pow_IZR). rewrite T in A.
  assert (P : forall n, 0 < 2 ^ n) by (intro; apply pow_lt; lra).
  apply Rmult_le_reg_r with (2 ^ 53); [apply P|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by (apply Rgt_not_eq, P).
  replace (2 ^ 53) with (2 ^ 24 * 2 ^ 29) by (rewrite <- pow_add; reflexivity).
  rewrite (Rmult_comm (2 ^ 24)), <- Rmult_assoc, Rinv_l, Rmult_1_l by (apply Rgt_not_eq, P). exact A.
Qed.

(** The premise of [joint_promise]. *)
Theorem sampler_paid m size values k a b :
  (Z.of_nat (S m) * Z.of_nat (S m) * (Z.of_nat size + Z.of_nat values + 64) <= 2 ^ 20)%Z ->
  (k <= 5 * (size + values) + 224)%nat -> near (/ 2 ^ 53) (roundings m k) a b ->
  (1 - / 2 ^ 28) * a <= b <= (1 + / 2 ^ 28) * a.
Proof.
  intros F K H. apply rounding_paid with (/ 2 ^ 53) (roundings m k); [|now apply roundings_fit with size values|exact H].
  assert (P : 1 < 2 ^ 53) by (apply Rlt_pow_R1; [lra|lia]).
  split; [apply Rinv_0_lt_compat; lra|]. rewrite <- Rinv_1. apply Rinv_lt_contravar; lra.
Qed.

(** * The roundings of one stage, counted *)
Section Counted.
  Variable u : R.
  Hypothesis u_range : 0 < u < 1.

  (** b is a, rounded. *)
  Definition rounded (a b : R) : Prop := (1 - u) * a <= b <= (1 + u) * a.

  (** What floats compute: k roundings at most from the exact number a to the computed b. *)
  Inductive computes : nat -> R -> R -> Prop :=
  | given a : 0 <= a -> computes 0 a a
  | more k l a b : (k <= l)%nat -> computes k a b -> computes l a b
  | sum_of k a b a' b' c : computes k a a' -> computes k b b' -> rounded (a' + b') c -> computes (k + 1) (a + b) c
  | product_of k l a b a' b' c : computes k a a' -> computes l b b' -> rounded (a' * b') c -> computes (k + l + 1) (a * b) c.

  Theorem computes_near k a b : computes k a b -> near u k a b.
  Proof.
    induction 1 as [a A|k l a b L _ IH|k a b a' b' c _ A _ B C|k l a b a' b' c _ A _ B C].
    - now apply near_same.
    - now apply near_more with k.
    - apply near_step with (a' + b'); [assumption|now apply near_sum|]. apply near_round; [assumption| |exact C].
      destruct A as (_ & A & _), B as (_ & B & _). lra.
    - apply near_step with (a' * b'); [assumption|now apply near_product|]. apply near_round; [assumption| |exact C].
      destruct A as (_ & A & _), B as (_ & B & _). now apply Rmult_le_pos.
  Qed.

  (** Powers, one product after the other, of an x that is a rounded quotient: two roundings for each level. *)
  Theorem powers_counted x x' p : 0 <= x -> rounded x x' -> p 0%nat = 1 -> (forall l, rounded (p l * x') (p (S l))) ->
    forall l, computes (2 * l) (x ^ l) (p l).
  Proof.
    intros X X' P0 PS. assert (E : computes 1 x x').
    { replace x with (1 * x) by ring. replace 1%nat with (0 + 0 + 1)%nat by lia.
      apply product_of with (a' := 1) (b' := x); [apply given; lra|now apply given|]. now rewrite Rmult_1_l. }
    induction l as [|l IH]; [rewrite P0; apply given; cbn; lra|].
    replace (x ^ S l) with (x ^ l * x) by (cbn; ring). replace (2 * S l)%nat with (2 * l + 1 + 1)%nat by lia.
    now apply product_of with (a' := p l) (b' := x').
  Qed.

  (** Terms that are added one after the other: a rounding for each. *)
  Inductive added_up : list R -> R -> Prop :=
  | nothing : added_up [] 0
  | one_more t l s r : added_up l s -> rounded (s + t) r -> added_up (t :: l) r.

  Definition all (l : list R) : R := fold_right Rplus 0 l.

  Theorem added_counted k exact terms r : Forall2 (computes k) exact terms -> added_up terms r ->
    computes (k + length terms) (all exact) r.
  Proof.
    intros F A. revert exact F. induction A as [|t l s r A IH H]; intros exact F; inversion F as [|e t' es l' E Es]; subst.
    - apply more with 0%nat; [lia|]. apply given. cbn. lra.
    - cbn [all fold_right length]. rewrite Rplus_comm. replace (k + S (length l))%nat with (k + length l + 1)%nat by lia.
      apply sum_of with (a' := s) (b' := t); [now apply IH| |exact H]. apply more with k; [lia|exact E].
  Qed.

  (** Sums of at most [longest] terms each, added up in turn. *)
  Theorem parts_counted k longest (exact : list (list R)) (sums : list R) r :
    Forall2 (fun es s => exists ts, Forall2 (computes k) es ts /\ added_up ts s /\ (length ts <= longest)%nat) exact sums ->
    added_up sums r -> computes (k + longest + length sums) (all (map all exact)) r.
  Proof.
    intros F A. apply added_counted with (2 := A). clear A. induction F as [|es s exact sums (ts & G & B & L) F IH]; cbn [map]; constructor.
    - apply more with (k + length ts)%nat; [lia|]. now apply added_counted.
    - exact IH.
  Qed.

  (** The sum behind a place: what landed there, over the place as a level, and what landed a record before. A move has at
      most [levels] levels and the weight of a spacing, which is exact; at most 7 parts are added up. *)
  Theorem sums_counted x x' levels longest exact sums landed over before before' r :
    0 <= x -> rounded x x' ->
    Forall2 (fun es s => exists ts, Forall2 (computes (2 * levels + 2)) es ts /\ added_up ts s /\ (length ts <= longest)%nat) exact sums ->
    (length sums <= 7)%nat -> added_up sums landed -> rounded (landed * x') over ->
    computes (2 * levels + 2 + longest + 7) before before' -> rounded (over + before') r ->
    computes (2 * levels + longest + 12) (all (map all exact) * x + before) r.
  Proof.
    intros X X' F P A O B H. pose proof (parts_counted _ _ _ _ _ F A) as L.
    assert (E : computes 1 x x').
    { replace x with (1 * x) by ring. replace 1%nat with (0 + 0 + 1)%nat by lia.
      apply product_of with (a' := 1) (b' := x); [apply given; lra|now apply given|]. now rewrite Rmult_1_l. }
    replace (2 * levels + longest + 12)%nat with (2 * levels + longest + 11 + 1)%nat by lia.
    apply sum_of with (a' := over) (b' := before'); [| |exact H].
    - replace (2 * levels + longest + 11)%nat with (2 * levels + 2 + longest + 7 + 1 + 1)%nat by lia.
      apply product_of with (a' := landed) (b' := x'); [|exact E|exact O]. apply more with (2 := L). lia.
    - apply more with (2 := B). lia.
  Qed.

  (** A coin: the rarer side is divided by the sum, both rounded; the other side has what is left. *)
  Theorem coin_counted a b s c : 0 <= a <= b -> 0 < a + b -> g u ^ 2 <= 3 / 2 -> rounded (a + b) s -> rounded (a / s) c ->
    near u 4 (a / (a + b)) c /\ near u 4 (b / (a + b)) (1 - c).
  Proof.
    intros A P G S C. assert (Ns : near u 1 (a + b) s) by (apply near_round; [assumption|lra|exact S]).
    assert (Ps : 0 < s) by (destruct S as [S _]; nra).
    assert (N : near u 2 (a / (a + b)) c).
    { apply near_step with (k := 1%nat) (l := 1%nat) (b := a / s); [assumption| |].
      - replace 1%nat with (0 + 1)%nat by lia. apply near_quotient; [assumption|assumption|apply near_same; lra|exact Ns].
      - apply near_round; [assumption| |exact C]. unfold Rdiv. apply Rmult_le_pos; [lra|]. left. now apply Rinv_0_lt_compat. }
    split; [apply near_more with 2%nat; [assumption|lia|exact N]|].
    replace (b / (a + b)) with (1 - a / (a + b)) by (field; lra). change 4%nat with (2 * 2)%nat. apply coin_sides; try assumption.
    apply Rmult_le_reg_r with (a + b); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
  Qed.

  (** A pick among weights that are computed with k roundings, by at most 24 coins: [share] is the exact part of one. *)
  Theorem picks_counted k exact sum t p : computed u 4 t -> (height t <= 24)%nat -> 0 < root t -> 0 < sum ->
    near u k exact (value t p) -> near u k sum (total t) -> near u (2 * k + 144) (exact / sum) (chance t p).
  Proof.
    intros C H P Q E S. pose proof (root_near u u_range 4 t C) as R0. pose proof (pick_near u u_range 4 t p C P) as K.
    apply near_more with (k + (k + height t) + (4 + 1) * height t)%nat; [assumption|lia|].
    apply near_step with (value t p / root t); [assumption| |exact K].
    apply near_quotient; [assumption|exact Q|exact E|]. now apply near_step with (total t).
  Qed.

End Counted.

(** Both are within the roundings that a stage may have: a move has at most [size] + 1 levels, and a sum [size] + [values]
    terms. *)
Theorem stage_counted size values : (2 <= values)%nat ->
  (2 * (size + 1) + (size + values) + 12 <= 5 * (size + values) + 224)%nat /\
  (2 * (2 * (size + 1) + 2) + 144 <= 5 * (size + values) + 224)%nat.
Proof. lia. Qed.
