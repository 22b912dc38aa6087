(** The tight bound of score tables: permute-and-flip where exactly one length is 0.

    x = T(1), every step T(l) / T(l+1) is at most R (the first one too, so 1 <= x R), there are c + 2 outputs, y = x/R:

      Pr[i] <= M * Pr'[i],   M = max (R * I(y), K / x) / I(x),
      I(z) = int_0^1 (1-u) (1-zu)^c du,   K = int_0^1 (1-xu) (1-yu)^c du.

    mean_moves  the mean of u falls by no more than the factor R when every other hand's chance falls by R
    worst_case  hence the ratio is worst where all others have the chance x
    flip_tight  the theorem, by the five cases of where the zeros are *)
From Coq Require Import Reals List Bool Lra Lia Arith Permutation.
From Inbounds Require Import Exp Privacy Integral Scores.
Import ListNotations.
Open Scope R_scope.

Lemma J_permutation t l l' : Permutation l l' -> forall k, J t k l = J t k l'.
Proof.
  induction 1; intro k; cbn [J]; auto.
  - now rewrite !IHPermutation.
  - ring.
  - now rewrite IHPermutation1.
Qed.

Section Bound.
  Variables (x r : R).
  Hypothesis x_unit : 0 < x < 1.
  Hypothesis r_least : 1 <= r.

  Lemma inv_r : 0 < / r <= 1.
  Proof.
    split; [apply Rinv_0_lt_compat; lra|]. rewrite <- Rinv_1. apply Rinv_le_contravar; lra.
  Qed.

  Definition small (z : R) : Prop := 0 <= z <= x.

  Lemma small_in_unit l : Forall small l -> forall z, In z l -> 0 <= z <= 1.
  Proof. rewrite Forall_forall. intros H z Hz. destruct (H z Hz). lra. Qed.

  (** [h] is the chance of the hand that stands for the zero: 1 where it stays, x where it moves. *)
  Lemma mean_moves h l : 0 <= h <= 1 -> 1 <= h * r -> Forall small l ->
    J 1 1 (h :: map (Rmult (/ r)) l) * J 1 0 (1 :: l) <= r * (J 1 0 (h :: map (Rmult (/ r)) l) * J 1 1 (1 :: l)).
  Proof.
    intros Hh Hhr Hl. pose proof r_least as Hr. pose proof inv_r as Hir.
    set (f := factors (h * r :: l)). set (g := factors (1 :: l)).
    set (a0 := J (/ r) 0 (h * r :: l)). set (a1 := J (/ r) 1 (h * r :: l)).
    set (b0 := J (/ r) 0 (1 :: l)). set (b1 := J (/ r) 1 (1 :: l)).
    set (c0 := area (1 :: l) 0 1 - area (1 :: l) 0 (/ r)). set (c1 := area (1 :: l) 1 1 - area (1 :: l) 1 (/ r)).
    assert (Fl : forall u, 0 <= u <= 1 -> 0 <= factors l u) by (intros; apply factors_nonneg; [now apply small_in_unit|assumption]).
    assert (Ef : forall u, f (/ r * u) = factors (h :: map (Rmult (/ r)) l) u).
    { intro u. unfold f. rewrite factors_scaled. cbn [map factors]. do 3 f_equal. field. lra. }
    assert (A0 : J 1 0 (h :: map (Rmult (/ r)) l) = r * a0).
    { apply (integral_unique (factors (h :: map (Rmult (/ r)) l)) 0 1); [lra|apply J0_integral|].
      eapply integral_ext; [exact Ef|]. apply integral_scaled; [lra|]. apply J0_integral. }
    assert (A1 : J 1 1 (h :: map (Rmult (/ r)) l) = r * (r * a1)).
    { apply (integral_unique (fun u => u * factors (h :: map (Rmult (/ r)) l) u) 0 1); [lra|apply J1_integral|].
      pose proof (integral_scaled (fun v => v * f v) r a1 ltac:(lra) (J1_integral _ _)) as S1.
      pose proof (integral_linear _ _ _ _ _ _ r 0 S1 S1) as S2. cbv beta in S2.
      replace (r * (r * a1) + 0 * (r * a1)) with (r * (r * a1)) in S2 by ring.
      eapply integral_ext; [|exact S2]. intro u. cbv beta. rewrite Ef. field. lra. }
    assert (B0 : J 1 0 (1 :: l) = b0 + c0) by (unfold b0, c0; rewrite !J_area; ring).
    assert (B1 : J 1 1 (1 :: l) = b1 + c1) by (unfold b1, c1; rewrite !J_area; ring).
    assert (IC0 : integral g (/ r) 1 c0).
    { exists (area (1 :: l) 0). split; [|reflexivity]. intro u. pose proof (area_derivative (1 :: l) 0 u) as D.
      cbn [pow] in D. rewrite Rmult_1_l in D. exact D. }
    assert (IC1 : integral (fun u => u * g u) (/ r) 1 c1).
    { exists (area (1 :: l) 1). split; [|reflexivity]. intro u. pose proof (area_derivative (1 :: l) 1 u) as D.
      cbn [pow] in D. rewrite Rmult_1_r in D. exact D. }
    assert (Hv : forall v, 0 <= v <= / r -> 0 <= f v).
    { intros v Hv. unfold f. cbn [factors]. apply Rmult_le_pos; [|apply Fl; lra].
      assert (r * v <= 1) by (apply Rmult_le_reg_l with (/ r); [lra|]; rewrite <- Rmult_assoc, Rinv_l by lra; lra).
      assert (0 <= r * v) by nra. replace (1 - h * r * v) with (1 - h * (r * v)) by ring. nra. }
    (* below 1/r *)
    assert (Below : a1 * b0 <= a0 * b1).
    { apply (chebyshev f g 0 (/ r)); try apply J0_integral; try apply J1_integral; [lra|].
      intros v w Hv' Hw. unfold f, g. cbn [factors].
      replace ((w - v) * ((1 - h * r * v) * factors l v * ((1 - 1 * w) * factors l w)
                 - (1 - h * r * w) * factors l w * ((1 - 1 * v) * factors l v)))
        with ((h * r - 1) * ((w - v) * (w - v)) * (factors l v * factors l w)) by ring.
      apply Rmult_le_pos; [apply Rmult_le_pos; [lra|exact (Rle_0_sqr (w - v))]|]. apply Rmult_le_pos; apply Fl; lra. }
    (* beyond it *)
    assert (Mean : a1 <= / r * a0).
    { pose proof (integral_linear _ _ _ _ _ _ (/ r) 0 (J0_integral (/ r) (h * r :: l)) (J0_integral (/ r) (h * r :: l))) as L.
      fold a0 in L. replace (/ r * a0 + 0 * a0) with (/ r * a0) in L by ring.
      apply (integral_le _ _ 0 (/ r) _ _ ltac:(lra)) with (2 := J1_integral (/ r) (h * r :: l)) (3 := L).
      intros v Hv'. cbv beta. specialize (Hv v Hv'). unfold f in Hv. nra. }
    assert (A0pos : 0 <= a0) by (apply (integral_nonneg f 0 (/ r)); [lra|assumption|apply J0_integral]).
    assert (Beyond : a1 * c0 <= a0 * c1).
    { pose proof (integral_linear _ _ _ _ _ _ a0 (- a1) IC1 IC0) as L.
      apply integral_nonneg in L; [lra|lra|]. intros w Hw. cbv beta.
      replace (a0 * (w * g w) + - a1 * g w) with ((a0 * w - a1) * g w) by ring.
      apply Rmult_le_pos; [nra|]. unfold g. cbn [factors]. apply Rmult_le_pos; [lra|apply Fl; lra]. }
    rewrite A0, A1, B0, B1. nra.
  Qed.

  (** All others lose the factor r, against all others as they are. *)
  Definition ratio (h : R) (l : list R) : R := J 1 0 (h :: map (Rmult (/ r)) l) / J 1 0 (1 :: l).

  Lemma below_pos l : Forall small l -> 0 < J 1 0 (1 :: l).
  Proof. intro H. apply J_pos. intros z [<-|Hz]; [lra|]. now apply (small_in_unit l). Qed.

  Lemma ratio_rises h z l : 0 <= h <= 1 -> 1 <= h * r -> small z -> Forall small l -> ratio h (z :: l) <= ratio h (x :: l).
  Proof.
    intros Hh Hhr Hz Hl. pose proof inv_r.
    assert (Hx : small x) by (unfold small; lra).
    pose proof (below_pos (z :: l) ltac:(constructor; assumption)) as Dz.
    pose proof (below_pos (x :: l) ltac:(constructor; assumption)) as Dx.
    pose proof (mean_moves h l Hh Hhr Hl) as M. unfold ratio. cbn [map] in *.
    rewrite (J_permutation _ _ _ (perm_swap (/ r * z) h _)), (J_permutation _ _ _ (perm_swap (/ r * x) h _)).
    rewrite (J_permutation _ (1 :: z :: l) _ (perm_swap z 1 _)) in *.
    rewrite (J_permutation _ (1 :: x :: l) _ (perm_swap x 1 _)) in *.
    change (J 1 0 (z :: 1 :: l)) with (J 1 0 (1 :: l) - z * J 1 1 (1 :: l)) in *.
    change (J 1 0 (x :: 1 :: l)) with (J 1 0 (1 :: l) - x * J 1 1 (1 :: l)) in *.
    set (m := map (Rmult (/ r)) l) in *.
    change (J 1 0 (/ r * z :: h :: m)) with (J 1 0 (h :: m) - / r * z * J 1 1 (h :: m)).
    change (J 1 0 (/ r * x :: h :: m)) with (J 1 0 (h :: m) - / r * x * J 1 1 (h :: m)).
    set (A0 := J 1 0 (h :: m)) in *. set (A1 := J 1 1 (h :: m)) in *.
    set (B0 := J 1 0 (1 :: l)) in *. set (B1 := J 1 1 (1 :: l)) in *.
    assert (M' : / r * (A1 * B0) <= A0 * B1).
    { apply Rmult_le_reg_l with r; [lra|]. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. exact M. }
    apply Rmult_le_reg_r with ((B0 - z * B1) * (B0 - x * B1)); [now apply Rmult_lt_0_compat|].
    replace ((A0 - / r * z * A1) / (B0 - z * B1) * ((B0 - z * B1) * (B0 - x * B1)))
      with ((A0 - / r * z * A1) * (B0 - x * B1)) by (field; lra).
    replace ((A0 - / r * x * A1) / (B0 - x * B1) * ((B0 - z * B1) * (B0 - x * B1)))
      with ((A0 - / r * x * A1) * (B0 - z * B1)) by (field; lra).
    assert (E : (A0 - / r * x * A1) * (B0 - z * B1) - (A0 - / r * z * A1) * (B0 - x * B1)
                = (x - z) * (A0 * B1 - / r * (A1 * B0))) by ring.
    destruct Hz. assert (0 <= (x - z) * (A0 * B1 - / r * (A1 * B0))) by (apply Rmult_le_pos; lra). lra.
  Qed.

  Lemma ratio_permutation h l l' : Permutation l l' -> ratio h l = ratio h l'.
  Proof.
    intro H. unfold ratio. rewrite (J_permutation 1 (1 :: l) (1 :: l') (perm_skip 1 H)).
    now rewrite (J_permutation 1 _ _ (perm_skip h (Permutation_map (Rmult (/ r)) H))).
  Qed.

  Lemma Forall_repeat n l : Forall small l -> Forall small (repeat x n ++ l).
  Proof. intro H. induction n; cbn; [assumption|]. constructor; [unfold small; lra|assumption]. Qed.

  Lemma worst_case h : 0 <= h <= 1 -> 1 <= h * r -> forall l s, Forall small l -> Forall small s ->
    ratio h (l ++ s) <= ratio h (repeat x (length l) ++ s).
  Proof.
    intros Hh Hhr. induction l as [|z l IH]; intros s Hl Hs; cbn [app length repeat]; [lra|].
    inversion Hl; subst. eapply Rle_trans.
    - apply ratio_rises; auto. apply Forall_app; auto.
    - rewrite (ratio_permutation h (x :: l ++ s) (l ++ x :: s)) by apply Permutation_middle.
      rewrite (ratio_permutation h (x :: repeat x (length l) ++ s) (repeat x (length l) ++ x :: s)) by apply Permutation_middle.
      apply IH; [assumption|]. constructor; [unfold small; lra|assumption].
  Qed.

  (** * The bound *)
  Variable c : nat.

  Definition y : R := / r * x.
  Definition I (z : R) : R := J 1 0 (1 :: repeat z c).
  Definition K : R := J 1 0 (x :: repeat y c).
  Definition M : R := Rmax (r * I y) (K / x) / I x.

  Lemma map_repeat_y : map (Rmult (/ r)) (repeat x c) = repeat y c.
  Proof. clear. induction c as [|n IH]; cbn; [reflexivity|]. now rewrite IH. Qed.

  Lemma I_pos z : 0 <= z <= 1 -> 0 < I z.
  Proof. intro H. apply J_pos. intros w [<-|Hw]; [lra|]. apply repeat_spec in Hw. lra. Qed.

  Lemma y_small : 0 <= y <= x.
  Proof. pose proof inv_r. unfold y. nra. Qed.

  (** The others: chances a_j against b_j <= r * a_j. *)
  Lemma others_bound h la lb : 0 <= h <= 1 -> 1 <= h * r -> length lb = c -> Forall small lb ->
    Forall2 (fun a b => in_unit a /\ b <= r * a) la lb ->
    J 1 0 (h :: la) * I x <= J 1 0 (h :: repeat y c) * J 1 0 (1 :: lb).
  Proof.
    intros Hh Hhr Hc Hlb H. pose proof inv_r as Hir.
    pose proof (worst_case h Hh Hhr lb [] Hlb (Forall_nil _)) as W. rewrite !app_nil_r, Hc in W.
    pose proof (below_pos lb Hlb) as D. pose proof (I_pos x ltac:(lra)) as Ix.
    unfold ratio in W. rewrite map_repeat_y in W. fold (I x) in W.
    assert (N : J 1 0 (h :: la) <= J 1 0 (h :: map (Rmult (/ r)) lb)).
    { apply (integral_le (factors (h :: la)) (factors (h :: map (Rmult (/ r)) lb)) 0 1); [lra| |apply J0_integral|apply J0_integral].
      intros u Hu. apply factors_le; [|assumption]. constructor; [lra|].
      clear - H Hlb Hir r_least. induction H as [|a b la lb [Ua Hab] H IH]; cbn; constructor.
      - destruct (Forall_inv Hlb) as [B0 B1]. unfold in_unit in Ua. split; [|lra]. split; [nra|].
        apply Rmult_le_reg_l with r; [lra|]. rewrite <- Rmult_assoc, Rinv_r by lra. lra.
      - apply IH. now inversion Hlb. }
    apply Rle_trans with (J 1 0 (h :: map (Rmult (/ r)) lb) * I x); [apply Rmult_le_compat_r; lra|].
    apply Rmult_le_reg_r with (/ (J 1 0 (1 :: lb) * I x)); [apply Rinv_0_lt_compat; now apply Rmult_lt_0_compat|].
    replace (J 1 0 (h :: map (Rmult (/ r)) lb) * I x * / (J 1 0 (1 :: lb) * I x))
      with (J 1 0 (h :: map (Rmult (/ r)) lb) / J 1 0 (1 :: lb)) by (field; lra).
    replace (J 1 0 (h :: repeat y c) * J 1 0 (1 :: lb) * / (J 1 0 (1 :: lb) * I x))
      with (J 1 0 (h :: repeat y c) / I x) by (field; lra).
    exact W.
  Qed.

  Lemma bound_stays : r * I y <= M * I x.
  Proof.
    unfold M. pose proof (I_pos x ltac:(lra)). replace (Rmax (r * I y) (K / x) / I x * I x) with (Rmax (r * I y) (K / x)) by (field; lra).
    apply Rmax_l.
  Qed.

  Lemma bound_moves : K <= x * (M * I x).
  Proof.
    unfold M. pose proof (I_pos x ltac:(lra)). replace (Rmax (r * I y) (K / x) / I x * I x) with (Rmax (r * I y) (K / x)) by (field; lra).
    apply Rle_trans with (x * (K / x)); [right; field; lra|]. apply Rmult_le_compat_l; [lra|apply Rmax_r].
  Qed.

  Lemma bound_step : r <= M.
  Proof.
    pose proof bound_stays as B. pose proof (I_pos x ltac:(lra)) as Ix. pose proof y_small.
    assert (I x <= I y).
    { apply (integral_le (factors (1 :: repeat x c)) (factors (1 :: repeat y c)) 0 1); [lra| |apply J0_integral|apply J0_integral].
      intros u Hu. apply factors_le; [|assumption]. constructor; [lra|].
      clear - H x_unit. induction c; cbn; constructor; auto; lra. }
    apply Rmult_le_reg_r with (I x); [assumption|]. nra.
  Qed.

  (** * Lengths *)
  Variable T : nat -> R.
  Hypothesis T_zero : T 0 = 1.
  Hypothesis T_one : T 1 = x.
  Hypothesis T_pos : forall l, 0 < T l.
  Hypothesis T_falls : forall l, T (S l) <= T l.
  Hypothesis T_steps : forall l, T l <= r * T (S l).

  Lemma first_step : 1 <= x * r.
  Proof. pose proof (T_steps 0) as H. rewrite T_zero, T_one in H. lra. Qed.

  (** Lengths of one output under two neighbours. *)
  Definition lengths_near (e : nat * nat) : Prop := (fst e <= snd e + 1 /\ snd e <= fst e + 1)%nat.
  Definition zero (n : nat) : bool := Nat.eqb n 0.
  Definition zeros (l : list nat) : nat := length (filter zero l).

  Lemma T_le_x l : l <> 0%nat -> T l <= x.
  Proof. destruct l as [|l]; [easy|]. intros _. induction l as [|l IH]; [lra|]. pose proof (T_falls (S l)). lra. Qed.

  Lemma T_unit l : in_unit (T l).
  Proof. pose proof (T_pos l). destruct l as [|l]; [unfold in_unit; lra|]. pose proof (T_le_x (S l) ltac:(easy)). unfold in_unit. lra. Qed.

  Lemma T_near e : lengths_near e -> T (fst e) <= r * T (snd e) /\ T (snd e) <= r * T (fst e).
  Proof.
    destruct e as [a b]. unfold lengths_near. cbn [fst snd]. intros [A B]. pose proof r_least as Hr.
    pose proof (T_pos a). pose proof (T_pos b).
    assert (C : a = b \/ a = S b \/ b = S a) by lia. destruct C as [->|[->| ->]].
    - nra.
    - pose proof (T_falls b). pose proof (T_steps b). split; [nra|lra].
    - pose proof (T_falls a). pose proof (T_steps a). split; [lra|nra].
  Qed.

  Lemma Forall2_split (f g : nat * nat -> R) (Rel : R -> R -> Prop) l : (forall e, In e l -> Rel (f e) (g e)) ->
    Forall2 Rel (map f l) (map g l).
  Proof. induction l as [|e l IH]; intro H; cbn; constructor; [apply H; now left|]. apply IH. intros; apply H; now right. Qed.

  Lemma shrunk l : Forall lengths_near l -> J 1 0 (map (fun e => T (fst e)) l) <= r * J 1 0 (map (fun e => T (snd e)) l).
  Proof.
    intro H. apply shrink; [lra|]. apply Forall2_split. intros e He. rewrite Forall_forall in H.
    destruct (T_near e (H e He)). repeat split; try apply T_unit; assumption.
  Qed.

  Lemma zeros_none l : zeros l = 0%nat -> forall n, In n l -> n <> 0%nat.
  Proof.
    unfold zeros. induction l as [|a l IH]; intros H n Hn; [easy|]. cbn in H. unfold zero in H at 1.
    destruct (Nat.eqb_spec a 0); [discriminate|]. destruct Hn as [<-|Hn]; auto.
  Qed.

  (** One zero among the first or the second lengths: it can be taken to the front. *)
  Lemma one_zero (f : nat * nat -> nat) l : zeros (map f l) = 1%nat ->
    exists e l', Permutation l (e :: l') /\ f e = 0%nat /\ forall d, In d l' -> f d <> 0%nat.
  Proof.
    induction l as [|a l IH]; intro H; [discriminate|]. unfold zeros in H. cbn [map filter] in H. unfold zero in H at 1.
    destruct (Nat.eqb_spec (f a) 0) as [E|E].
    - exists a, l. split; [reflexivity|]. split; [assumption|]. cbn in H. injection H as H.
      intros d Hd. apply (zeros_none (map f l) H). now apply in_map.
    - destruct (IH H) as (e & l' & P & E0 & N). exists e, (a :: l'). split.
      + rewrite P. apply perm_swap.
      + split; [assumption|]. intros d [<-|Hd]; auto.
  Qed.

  Lemma zeros_permutation l l' : Permutation l l' -> zeros l = zeros l'.
  Proof.
    unfold zeros. induction 1; cbn; auto.
    - destruct (zero x0); cbn; lia.
    - destruct (zero x0), (zero y0); cbn; lia.
    - lia.
  Qed.

  Let fs (l : list (nat * nat)) := map (fun e => T (fst e)) l.
  Let sn (l : list (nat * nat)) := map (fun e => T (snd e)) l.

  Lemma fs_permutation l l' : Permutation l l' -> J 1 0 (fs l) = J 1 0 (fs l').
  Proof. intro P. apply J_permutation. now apply Permutation_map. Qed.
  Lemma sn_permutation l l' : Permutation l l' -> J 1 0 (sn l) = J 1 0 (sn l').
  Proof. intro P. apply J_permutation. now apply Permutation_map. Qed.

  (** Where the zeros of both stay out of the rest, the rest is bounded by [others_bound]. *)
  Lemma rest_bound h l : 0 <= h <= 1 -> 1 <= h * r -> length l = c -> Forall lengths_near l ->
    (forall e, In e l -> snd e <> 0%nat) ->
    J 1 0 (h :: fs l) * I x <= J 1 0 (h :: repeat y c) * J 1 0 (1 :: sn l).
  Proof.
    intros Hh Hhr Hc Hl Hs. apply others_bound; auto.
    - unfold sn. now rewrite map_length.
    - unfold sn. apply Forall_forall. intros z Hz. apply in_map_iff in Hz as (e & <- & He).
      split; [left; apply T_pos|]. apply T_le_x. auto.
    - apply Forall2_split. intros e He. rewrite Forall_forall in Hl. split; [apply T_unit|].
      destruct (T_near e (Hl e He)). assumption.
  Qed.

  Theorem flip_tight_pairs e rest : length rest = S c -> Forall lengths_near (e :: rest) ->
    zeros (map fst (e :: rest)) = 1%nat -> zeros (map snd (e :: rest)) = 1%nat ->
    T (fst e) * J 1 0 (fs rest) <= M * (T (snd e) * J 1 0 (sn rest)).
  Proof.
    intros Hlen Hn Z1 Z2. pose proof r_least as Hr. pose proof (I_pos x ltac:(lra)) as Ix. pose proof bound_step as Step.
    inversion Hn as [|? ? He Hrest]; subst.
    assert (Pos : 0 <= J 1 0 (sn rest)).
    { left. apply J_pos. intros z Hz. apply in_map_iff in Hz as (d & <- & _). apply T_unit. }
    assert (Pos1 : 0 <= J 1 0 (fs rest)).
    { left. apply J_pos. intros z Hz. apply in_map_iff in Hz as (d & <- & _). apply T_unit. }
    pose proof (shrunk rest Hrest) as Sh. fold (fs rest) (sn rest) in Sh.
    destruct e as [a b]. unfold zeros in Z1, Z2. cbn [map filter fst snd] in *. unfold zero in Z1 at 1. unfold zero in Z2 at 1.
    destruct (Nat.eqb_spec a 0) as [->|Ha]; destruct (Nat.eqb_spec b 0) as [->|Hb]; cbn [length] in Z1, Z2.
    - (* the zero is here, and stays *)
      rewrite T_zero. nra.
    - (* the zero is here, and moves away *)
      assert (b = 1)%nat as -> by (unfold lengths_near in He; cbn in He; lia). rewrite T_zero, T_one.
      destruct (one_zero snd rest Z2) as (d & l & P & D0 & Dn).
      injection Z1 as Z1. pose proof (zeros_none _ Z1) as None.
      assert (Hd : lengths_near d /\ fst d <> 0%nat).
      { split; [rewrite Forall_forall in Hrest; apply Hrest; rewrite P; now left|].
        apply None. apply in_map. rewrite P. now left. }
      assert (fst d = 1)%nat as D1 by (unfold lengths_near in Hd; lia).
      rewrite (fs_permutation _ _ P), (sn_permutation _ _ P). unfold fs, sn. cbn [map]. rewrite D0, D1, T_zero, T_one.
      fold (fs l) (sn l).
      assert (Hl : Forall lengths_near l).
      { rewrite Forall_forall in *. intros z Hz. apply Hrest. rewrite P. now right. }
      assert (Lc : length l = c) by (pose proof (Permutation_length P) as Q; cbn in Q; lia).
      pose proof (rest_bound x l ltac:(lra) first_step Lc Hl Dn) as B. fold K in B.
      pose proof bound_moves as Bm.
      assert (D : 0 < J 1 0 (1 :: sn l)).
      { apply J_pos. intros z [<-|Hz]; [lra|]. apply in_map_iff in Hz as (q & <- & _). apply T_unit. }
      apply Rmult_le_reg_r with (I x); [assumption|].
      apply Rle_trans with (K * J 1 0 (1 :: sn l)); [lra|].
      apply Rle_trans with (x * (M * I x) * J 1 0 (1 :: sn l)); [apply Rmult_le_compat_r; lra|]. right. ring.
    - (* the zero comes here *)
      assert (a = 1)%nat as -> by (unfold lengths_near in He; cbn in He; lia). rewrite T_zero, T_one. nra.
    - (* both zeros are among the others *)
      assert (Tab : T a <= r * T b) by (apply (T_near (a, b)); assumption).
      pose proof (T_pos a) as Tp. pose proof (T_pos b) as Tb.
      assert (Claim : J 1 0 (fs rest) * I x <= I y * J 1 0 (sn rest)).
      { destruct (one_zero fst rest Z1) as (d & l & P & D0 & Dn).
        assert (Hall : Forall lengths_near (d :: l)).
        { rewrite Forall_forall in *. intros z Hz. apply Hrest. exact (Permutation_in z (Permutation_sym P) Hz). }
        inversion Hall as [|? ? Hd Hl]; subst.
        assert (Lc : length l = c) by (pose proof (Permutation_length P) as Q; cbn in Q; lia).
        assert (Z2' : zeros (map snd (d :: l)) = 1%nat).
        { rewrite <- (zeros_permutation _ _ (Permutation_map snd P)). exact Z2. }
        rewrite (fs_permutation _ _ P), (sn_permutation _ _ P).
        destruct (Nat.eq_dec (snd d) 0) as [S0|S0].
        - (* in one place *)
          unfold fs, sn. cbn [map]. rewrite D0, S0, T_zero. fold (fs l) (sn l). unfold I at 2.
          apply rest_bound; try lra; auto.
          unfold zeros in Z2'. cbn [map filter] in Z2'. rewrite S0 in Z2'. cbn in Z2'. injection Z2' as Z2'.
          intros q Hq. apply (zeros_none _ Z2'). now apply in_map.
        - (* in two places *)
          assert (snd d = 1)%nat as S1 by (unfold lengths_near in Hd; lia).
          assert (Z3 : zeros (map snd l) = 1%nat).
          { unfold zeros in *. cbn [map filter] in Z2'. unfold zero in Z2' at 1. now rewrite S1 in Z2'. }
          destruct (one_zero snd l Z3) as (q & l' & P' & Q0 & Qn).
          assert (Hq : lengths_near q /\ fst q <> 0%nat).
          { split; [rewrite Forall_forall in Hl; apply Hl; rewrite P'; now left|]. apply Dn. rewrite P'. now left. }
          assert (fst q = 1)%nat as Q1 by (unfold lengths_near in Hq; lia).
          set (o := (1%nat, 1%nat) :: l').
          assert (E1 : J 1 0 (fs (d :: l)) = J 1 0 (1 :: fs o)).
          { rewrite (fs_permutation (d :: l) (d :: q :: l') (perm_skip d P')). unfold fs, o. cbn [map fst]. now rewrite D0, Q1, T_zero. }
          assert (E2 : J 1 0 (sn (d :: l)) = J 1 0 (1 :: sn o)).
          { rewrite (sn_permutation (d :: l) (q :: d :: l')).
            - unfold sn, o. cbn [map snd]. now rewrite S1, Q0, T_zero.
            - rewrite P'. apply perm_swap. }
          rewrite E1, E2. unfold I at 2. apply rest_bound; try lra.
          + unfold o. cbn. pose proof (Permutation_length P') as Q. cbn in Q. lia.
          + unfold o. constructor; [unfold lengths_near; cbn; lia|]. rewrite Forall_forall in *. intros z Hz. apply Hl. rewrite P'. now right.
          + unfold o. intros z [<-|Hz]; [cbn; lia|auto]. }
      pose proof bound_stays as Bs.
      apply Rmult_le_reg_r with (I x); [assumption|].
      apply Rle_trans with (T a * (I y * J 1 0 (sn rest))); [rewrite Rmult_assoc; apply Rmult_le_compat_l; lra|].
      apply Rle_trans with (r * T b * (I y * J 1 0 (sn rest))).
      + apply Rmult_le_compat_r; [|assumption]. apply Rmult_le_pos; [|assumption]. left. apply I_pos. pose proof y_small. lra.
      + replace (r * T b * (I y * J 1 0 (sn rest))) with (r * I y * (T b * J 1 0 (sn rest))) by ring.
        replace (M * (T b * J 1 0 (sn rest)) * I x) with (M * I x * (T b * J 1 0 (sn rest))) by ring.
        apply Rmult_le_compat_r; [|assumption]. apply Rmult_le_pos; lra.
  Qed.

  (** For neighbours with lengths l and l', c + 2 outputs, one zero in each. *)
  Theorem flip_tight l l' i : length l = S (S c) -> Forall2 (fun a b => lengths_near (a, b)) l l' ->
    zeros l = 1%nat -> zeros l' = 1%nat -> (i < length l)%nat -> flip (map T l) i <= M * flip (map T l') i.
  Proof.
    intros Hlen H Z1 Z2 Hi. set (pairs := combine l l').
    assert (L : length l = length l') by (clear - H; induction H; cbn; congruence).
    assert (F : map fst pairs = l /\ map snd pairs = l' /\ Forall lengths_near pairs).
    { unfold pairs. clear - H. induction H as [|a b l l' Hab H (A & B & C)]; cbn; [auto|].
      rewrite A, B. repeat split; auto. }
    destruct F as (F1 & F2 & Fn).
    assert (Lp : length pairs = S (S c)) by (rewrite <- Hlen, <- F1 at 1; now rewrite map_length).
    assert (Oth : forall (f : nat * nat -> R) j (q : list (nat * nat)), others j (map f q) = map f (others j q)).
    { intros f j. induction j as [|j IH]; intros [|e q]; cbn; auto. now rewrite IH. }
    assert (Perm : forall (q : list (nat * nat)) j, (j < length q)%nat -> Permutation q (nth j q (0, 0)%nat :: others j q)).
    { induction q as [|e q IH]; intros [|j] Hj; cbn in *; try lia; [reflexivity|].
      rewrite (IH j) at 1 by lia. apply perm_swap. }
    assert (Hip : (i < length pairs)%nat) by lia.
    specialize (Perm pairs i Hip).
    assert (E1 : map T l = map (fun e => T (fst e)) pairs) by (rewrite <- F1 at 1; now rewrite map_map).
    assert (E2 : map T l' = map (fun e => T (snd e)) pairs) by (rewrite <- F2 at 1; now rewrite map_map).
    rewrite !flip_formula, E1, E2, !Oth.
    rewrite (nth_indep _ 0 (T (fst (0, 0)%nat))), (nth_indep (map (fun e => T (snd e)) pairs) 0 (T (snd (0, 0)%nat))) by (now rewrite map_length).
    rewrite (map_nth (fun e => T (fst e))), (map_nth (fun e => T (snd e))).
    apply flip_tight_pairs.
    - pose proof (Permutation_length Perm) as Q. cbn [length] in Q. lia.
    - rewrite Forall_forall in *. intros z Hz. apply Fn. exact (Permutation_in z (Permutation_sym Perm) Hz).
    - rewrite <- (zeros_permutation _ _ (Permutation_map fst Perm)), F1. exact Z1.
    - rewrite <- (zeros_permutation _ _ (Permutation_map snd Perm)), F2. exact Z2.
  Qed.
End Bound.
