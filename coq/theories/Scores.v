(** Permute-and-flip over path lengths: the laws of score tables.

    Output j raises its hand with probability p_j = T(len_j); one of the raised hands is reported, all alike. T falls
    from T(0) = 1; exactly one length is 0, and between neighbours each length moves by at most 1.

    flip_formula   Pr[i] = p_i * int_0^1 prod_(j <> i) (1 - u p_j) du
    flip_sums_to   all of them sum to 1 - prod (1 - p_j), which is 1 where some p_j is 1
    flip_product   if p_j <= B * p'_j and p'_j <= A * p_j for all j, then Pr[i] <= B * A * Pr'[i]
    flip_square    if p_j and p'_j are within a factor r of each other, then Pr[i] <= r^2 * Pr'[i] *)
From Coq Require Import ZArith Reals List Bool Lra Lia Arith Permutation.
From Inbounds Require Import Exp Privacy Integral.
Import ListNotations.
Open Scope R_scope.

(** * Coins *)

(** The expectation of f over independent coins, coin j showing [true] with probability p_j. *)
Fixpoint coins (ps : list R) (f : list bool -> R) : R :=
  match ps with
  | [] => f []
  | p :: l => p * coins l (fun bs => f (true :: bs)) + (1 - p) * coins l (fun bs => f (false :: bs))
  end.

Fixpoint hands (bs : list bool) : nat := match bs with [] => 0 | b :: l => (if b then 1 else 0) + hands l end.

(** Pr[i]: coin i shows a hand, and it is the one of all raised hands. *)
Definition flip (ps : list R) (i : nat) : R :=
  coins ps (fun bs => if nth i bs false then / INR (hands bs) else 0).

Definition in_unit (p : R) : Prop := 0 <= p <= 1.

Lemma coins_ext ps : forall f g, (forall bs, length bs = length ps -> f bs = g bs) -> coins ps f = coins ps g.
Proof.
  induction ps as [|p ps IH]; intros f g H; cbn [coins]; [now apply H|].
  f_equal; f_equal; apply IH; intros bs Hb; apply H; cbn; lia.
Qed.

Lemma coins_scale ps c : forall f, coins ps (fun bs => c * f bs) = c * coins ps f.
Proof. induction ps as [|p ps IH]; intro f; cbn [coins]; [reflexivity|]. rewrite !IH. ring. Qed.

Lemma coins_zero ps : coins ps (fun _ => 0) = 0.
Proof. induction ps as [|p ps IH]; cbn [coins]; [reflexivity|]. rewrite IH. ring. Qed.

Lemma coins_le ps : Forall in_unit ps -> forall f g, (forall bs, length bs = length ps -> f bs <= g bs) ->
  coins ps f <= coins ps g.
Proof.
  induction 1 as [|p ps Hp H IH]; intros f g Hfg; cbn [coins]; [now apply Hfg|]. unfold in_unit in Hp.
  apply Rplus_le_compat; apply Rmult_le_compat_l; try lra; apply IH; intros bs Hb; apply Hfg; cbn; lia.
Qed.

Lemma hands_here bs : forall i, nth i bs false = true -> (0 < hands bs)%nat.
Proof. induction bs as [|b bs IH]; intros [|i] H; cbn in *; try discriminate; [subst; lia|]. specialize (IH i H). lia. Qed.

Lemma flip_nonneg ps i : Forall in_unit ps -> 0 <= flip ps i.
Proof.
  intro H. unfold flip. apply Rle_trans with (coins ps (fun _ => 0)); [rewrite coins_zero; lra|].
  apply coins_le; [assumption|]. intros bs _.
  destruct (nth i bs false) eqn:E; [|lra]. left. apply Rinv_0_lt_compat, lt_0_INR. now apply (hands_here bs i).
Qed.

(** E[1 / (k + 1 + hands)] *)
Fixpoint share (k : nat) (l : list R) : R :=
  match l with [] => / INR (S k) | p :: l' => p * share (S k) l' + (1 - p) * share k l' end.

Lemma coins_share l : forall k, coins l (fun bs => / INR (S (k + hands bs))) = share k l.
Proof.
  induction l as [|p l IH]; intro k; cbn [coins share].
  - cbn [hands]. now rewrite Nat.add_0_r.
  - rewrite <- !IH. f_equal. f_equal. apply coins_ext. intros bs _. cbn [hands]. do 3 f_equal. lia.
Qed.

Fixpoint others {A} (i : nat) (l : list A) : list A :=
  match i, l with _, [] => [] | O, _ :: l' => l' | S i', x :: l' => x :: others i' l' end.

Lemma coins_one ps : forall i (g : nat -> R), coins ps (fun bs => if nth i bs false then g (hands bs) else 0) =
  nth i ps 0 * coins (others i ps) (fun bs => g (S (hands bs))).
Proof.
  induction ps as [|p ps IH]; intros [|i] g.
  1, 2: cbn; ring.
  - cbn [coins others nth hands]. rewrite coins_zero. cbn [Nat.add]. ring.
  - cbn [coins others nth hands]. rewrite (IH i (fun h => g (1 + h)%nat)), (IH i (fun h => g (0 + h)%nat)).
    cbn [Nat.add]. ring.
Qed.

Lemma flip_share ps i : flip ps i = nth i ps 0 * share 0 (others i ps).
Proof. unfold flip. rewrite (coins_one ps i (fun h => / INR h)), <- coins_share. reflexivity. Qed.

(** * The integral *)
Lemma power_below k : integral (fun u => (1 - u) ^ k) 0 1 (/ INR (S k)).
Proof.
  exists (fun u => - / INR (S k) * (1 - u) ^ S k). assert (N : INR (S k) <> 0) by (apply not_0_INR; lia). split.
  - intro x. replace ((1 - x) ^ k) with (- / INR (S k) * (INR (S k) * (1 - x) ^ k * -1)) by (field; assumption).
    apply (derivable_pt_lim_scal (fun u => (1 - u) ^ S k)).
    apply (derivable_pt_lim_comp (fun u => 1 - u) (fun y => y ^ S k)).
    + replace (-1) with (0 - 1) by ring. apply (derivable_pt_lim_minus (fun _ => 1) id).
      * apply derivable_pt_lim_const.
      * apply derivable_pt_lim_id.
    + apply derivable_pt_lim_pow.
  - replace (1 - 1) with 0 by ring. rewrite pow_i, Rminus_0_r, pow1 by lia. ring.
Qed.

Lemma share_integral l : forall k, integral (fun u => (1 - u) ^ k * factors l u) 0 1 (share k l).
Proof.
  induction l as [|p l IH]; intro k; cbn [factors share].
  - eapply integral_ext; [|apply power_below]. intro u. cbv beta. ring.
  - eapply integral_ext; [|apply (integral_linear _ _ _ _ _ _ p (1 - p) (IH (S k)) (IH k))].
    intro u. cbv beta. cbn [pow]. ring.
Qed.

Lemma share_J l : share 0 l = J 1 0 l.
Proof.
  apply (integral_unique (factors l) 0 1); [lra| |apply J0_integral].
  eapply integral_ext; [|apply (share_integral l 0)]. intro u. cbn. ring.
Qed.

Theorem flip_formula ps i : flip ps i = nth i ps 0 * J 1 0 (others i ps).
Proof. now rewrite flip_share, share_J. Qed.

(** * All of them sum to the chance that there is a hand *)
Fixpoint shares (k : nat) (l : list R) : R :=   (* E[hands / (k + hands)] *)
  match l with [] => 0 | p :: l' => p * share k l' + (p * shares (S k) l' + (1 - p) * shares k l') end.

Lemma shares_split l : forall k, INR (S k) * share k l + shares (S k) l = 1.
Proof.
  induction l as [|p l IH]; intro k; cbn [share shares].
  - field. apply not_0_INR. lia.
  - pose proof (IH k) as A. pose proof (IH (S k)) as B. rewrite (S_INR (S k)) in B.
    replace (INR (S k) * (p * share (S k) l + (1 - p) * share k l)
             + (p * share (S k) l + (p * shares (S (S k)) l + (1 - p) * shares (S k) l)))
      with (p * ((INR (S k) + 1) * share (S k) l + shares (S (S k)) l)
            + (1 - p) * (INR (S k) * share k l + shares (S k) l)) by ring.
    rewrite A, B. ring.
Qed.

Lemma shares_sum l : forall k, rsum (seq 0 (length l)) (fun i => nth i l 0 * share k (others i l)) = shares k l.
Proof.
  induction l as [|p l IH]; intro k; [reflexivity|]. cbn [length seq rsum shares]. f_equal.
  rewrite <- seq_shift, rsum_map. cbn [nth others share].
  rewrite (rsum_ext _ _ (fun i => p * (nth i l 0 * share (S k) (others i l)) + (1 - p) * (nth i l 0 * share k (others i l))))
    by (intros; ring).
  rewrite <- (IH (S k)), <- (IH k). clear. induction (seq 0 (length l)) as [|j s IHs]; cbn [rsum]; [ring|]. rewrite IHs. ring.
Qed.

Fixpoint nobody (l : list R) : R := match l with [] => 1 | p :: l' => (1 - p) * nobody l' end.

Theorem flip_sums_to ps : rsum (seq 0 (length ps)) (flip ps) = 1 - nobody ps.
Proof.
  rewrite (rsum_ext _ _ (fun i => nth i ps 0 * share 0 (others i ps))) by (intros; apply flip_share).
  rewrite shares_sum. induction ps as [|p l IH]; cbn [shares nobody]; [ring|].
  pose proof (shares_split l 0) as S1. cbn [INR] in S1. rewrite IH.
  replace (p * share 0 l + (p * shares 1 l + (1 - p) * (1 - nobody l)))
    with (p * (1 * share 0 l + shares 1 l) + (1 - p) * (1 - nobody l)) by ring. rewrite S1. ring.
Qed.

Corollary flip_sums_to_one ps : In 1 ps -> rsum (seq 0 (length ps)) (flip ps) = 1.
Proof.
  intro H. rewrite flip_sums_to. enough (nobody ps = 0) by lra.
  induction ps as [|p l IH]; [easy|]. cbn. destruct H as [->|H]; [ring|]. rewrite (IH H). ring.
Qed.

(** * Any table: the square of the step *)
Definition scaled_pair (r : R) (a b : R) : Prop := in_unit a /\ in_unit b /\ b <= r * a.

Lemma shrink r la lb : 1 <= r -> Forall2 (scaled_pair r) la lb -> J 1 0 la <= r * J 1 0 lb.
Proof.
  intros Hr H. assert (Hr' : 0 < / r) by (apply Rinv_0_lt_compat; lra).
  assert (Hr1 : / r <= 1) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra).
  assert (Ub : forall z, In z lb -> 0 <= z <= 1).
  { clear - H. induction H as [|a b la lb Hab H IH]; intros z Hz; [easy|]. destruct Hz as [<-|Hz]; [apply Hab|auto]. }
  apply Rle_trans with (r * J (/ r) 0 lb).
  - apply (integral_le (factors la) (fun u => factors lb (/ r * u)) 0 1); [lra| |apply J0_integral|].
    + intros u Hu. rewrite factors_scaled. apply factors_le; [|assumption].
      clear - H Hr Hr'. induction H as [|a b la lb Hab H IH]; cbn; constructor; auto.
      destruct Hab as (Ua & Ub & Hab). unfold in_unit in *. split; [|lra]. split; [nra|].
      apply Rmult_le_reg_l with r; [lra|]. rewrite <- Rmult_assoc, Rinv_r by lra. lra.
    + apply integral_scaled; [lra|]. apply J0_integral.
  - apply Rmult_le_compat_l; [lra|]. rewrite !J_area.
    assert (0 <= area lb 0 1 - area lb 0 (/ r)); [|lra].
    apply (integral_nonneg (factors lb) (/ r) 1); [assumption| |].
    + intros u Hu. apply factors_nonneg; [assumption|lra].
    + exists (area lb 0). split; [|reflexivity]. intro x.
      pose proof (area_derivative lb 0 x) as D. cbn [pow] in D. now rewrite Rmult_1_l in D.
Qed.

Lemma others_Forall2 {A B} (Rel : A -> B -> Prop) la lb : Forall2 Rel la lb -> forall i, Forall2 Rel (others i la) (others i lb).
Proof. induction 1; intros [|i]; cbn; auto. Qed.

(** Chances that fall by at most B and rise by at most A. *)
Definition moves_within (B A : R) (a b : R) : Prop := in_unit a /\ in_unit b /\ a <= B * b /\ b <= A * a.

Theorem flip_product B A ps ps' i : 1 <= B -> 1 <= A -> Forall2 (moves_within B A) ps ps' -> flip ps i <= B * A * flip ps' i.
Proof.
  intros HB HA H. rewrite !flip_formula.
  assert (S1 : J 1 0 (others i ps) <= A * J 1 0 (others i ps')).
  { apply shrink; [assumption|]. apply others_Forall2. clear - H.
    induction H as [|a b l l' (Ha & Hb & Hab & Hba) H IH]; constructor; [|exact IH].
    exact (conj Ha (conj Hb Hba)). }
  assert (P0 : forall qs, Forall in_unit qs -> 0 <= J 1 0 (others i qs)).
  { intros qs Hq. left. apply J_pos. intros z Hz. rewrite Forall_forall in Hq. apply Hq.
    clear - Hz. revert qs Hz. induction i as [|i IH]; intros [|q qs] Hz; cbn in *; auto. destruct Hz; auto. }
  assert (U : Forall in_unit ps /\ Forall in_unit ps').
  { clear - H. induction H as [|a b l l' Hab H [A' B']]; split; constructor; auto; apply Hab. }
  assert (N : 0 <= nth i ps 0 /\ nth i ps 0 <= B * nth i ps' 0).
  { clear - H HB. revert i. induction H as [|a b l l' Hab H IH]; intros [|i]; cbn; try lra; [|apply IH].
    destruct Hab as ([? ?] & _ & ? & _). lra. }
  replace (B * A * (nth i ps' 0 * J 1 0 (others i ps'))) with ((B * nth i ps' 0) * (A * J 1 0 (others i ps'))) by ring.
  apply Rmult_le_compat; try tauto. now apply P0.
Qed.

Definition within_factor (r : R) (a b : R) : Prop := moves_within r r a b.

Theorem flip_square r ps ps' i : 1 <= r -> Forall2 (within_factor r) ps ps' -> flip ps i <= r * r * flip ps' i.
Proof. intros Hr H. exact (flip_product r r ps ps' i Hr Hr H). Qed.
