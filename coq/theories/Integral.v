(** Integrals of polynomials, as differences of antiderivatives: no Riemann sums are needed.

    [integral f a b I]: some F has derivative f everywhere, and I = F b - F a.

    integral_le      larger functions have larger integrals
    integral_unique  there is only one
    chebyshev        if g/f rises, then u has a larger mean under g than under f
    J                int_0^t u^k * prod (1 - z u) du, for the z of a list *)
From Coq Require Import Reals List Lra Lia.
Import ListNotations.
Open Scope R_scope.

Definition integral (f : R -> R) (a b I : R) : Prop :=
  exists F, (forall x, derivable_pt_lim F x (f x)) /\ I = F b - F a.

Lemma integral_ext f g a b I : (forall x, f x = g x) -> integral f a b I -> integral g a b I.
Proof. intros E (F & D & H). exists F. split; [|assumption]. intro x. rewrite <- E. apply D. Qed.

Lemma integral_linear f g a b I J c d : integral f a b I -> integral g a b J ->
  integral (fun x => c * f x + d * g x) a b (c * I + d * J).
Proof.
  intros (F & DF & ->) (G & DG & ->). exists (fun x => c * F x + d * G x). split; [|ring].
  intro x. apply (derivable_pt_lim_plus (fun x => c * F x) (fun x => d * G x)).
  - apply (derivable_pt_lim_scal F c x (f x)). apply DF.
  - apply (derivable_pt_lim_scal G d x (g x)). apply DG.
Qed.

Lemma integral_nonneg f a b I : a <= b -> (forall x, a <= x <= b -> 0 <= f x) -> integral f a b I -> 0 <= I.
Proof.
  intros Hab Hf (F & D & ->). destruct Hab as [Hab| ->]; [|lra].
  destruct (MVT_cor2 F f a b Hab ltac:(intros; apply D)) as (c & E & Hc). rewrite E.
  apply Rmult_le_pos; [apply Hf; lra|lra].
Qed.

Lemma integral_le f g a b I J : a <= b -> (forall x, a <= x <= b -> f x <= g x) ->
  integral f a b I -> integral g a b J -> I <= J.
Proof.
  intros Hab H Hf Hg. pose proof (integral_linear _ _ _ _ _ _ (-1) 1 Hf Hg) as L.
  apply integral_nonneg in L; [lra|assumption|]. intros x Hx. specialize (H x Hx). lra.
Qed.

Lemma integral_unique f a b I J : a <= b -> integral f a b I -> integral f a b J -> I = J.
Proof. intros Hab Hf Hg. apply Rle_antisym; eapply integral_le; eauto; intros; lra. Qed.

Lemma integral_pos f a b I : a < b -> (forall x, a < x < b -> 0 < f x) -> integral f a b I -> 0 < I.
Proof.
  intros Hab Hf (F & D & ->). destruct (MVT_cor2 F f a b Hab ltac:(intros; apply D)) as (c & E & Hc). rewrite E.
  apply Rmult_lt_0_compat; [apply Hf; lra|lra].
Qed.

(** int_0^1 f (u / r) du = r * int_0^(1/r) f *)
Lemma integral_scaled f r I : r <> 0 -> integral f 0 (/ r) I -> integral (fun u => f (/ r * u)) 0 1 (r * I).
Proof.
  intros Hr (F & D & ->). exists (fun u => r * F (/ r * u)). split.
  - intro x. replace (f (/ r * x)) with (r * (f (/ r * x) * / r)) by (field; assumption).
    apply (derivable_pt_lim_scal (fun u => F (/ r * u)) r).
    apply (derivable_pt_lim_comp (fun u => / r * u) F); [|apply D].
    pose proof (derivable_pt_lim_scal id (/ r) x 1 (derivable_pt_lim_id x)) as E. now rewrite Rmult_1_r in E.
  - rewrite Rmult_0_r, Rmult_1_r. ring.
Qed.

(** Chebyshev's inequality: where g/f rises, u is larger under g. The integrals of f, u f, g, u g are f0, f1, g0, g1. *)
Lemma chebyshev f g a b f0 f1 g0 g1 : a <= b ->
  (forall v w, a <= v <= b -> a <= w <= b -> 0 <= (w - v) * (f v * g w - f w * g v)) ->
  integral f a b f0 -> integral (fun u => u * f u) a b f1 ->
  integral g a b g0 -> integral (fun u => u * g u) a b g1 -> f1 * g0 <= f0 * g1.
Proof.
  intros Hab H F0 F1 G0 G1.
  (* for each w, the integral over v *)
  assert (W : forall w, a <= w <= b -> 0 <= (w * g w) * f0 - g w * f1 - (w * f w) * g0 + f w * g1).
  { intros w Hw.
    pose proof (integral_linear _ _ _ _ _ _ (w * g w) (- g w) F0 F1) as L1.
    pose proof (integral_linear _ _ _ _ _ _ (- (w * f w)) (f w) G0 G1) as L2.
    pose proof (integral_linear _ _ _ _ _ _ 1 1 L1 L2) as L.
    apply integral_nonneg in L; [lra|assumption|].
    intros v Hv. specialize (H v w Hv Hw). cbv beta. lra. }
  pose proof (integral_linear _ _ _ _ _ _ f0 (- f1) G1 G0) as L1.
  pose proof (integral_linear _ _ _ _ _ _ (- g0) g1 F1 F0) as L2.
  pose proof (integral_linear _ _ _ _ _ _ 1 1 L1 L2) as L.
  apply integral_nonneg in L; [lra|assumption|].
  intros w Hw. specialize (W w Hw). cbv beta. lra.
Qed.

(** * Products of factors 1 - z u *)
Fixpoint factors (l : list R) (u : R) : R := match l with [] => 1 | z :: l' => (1 - z * u) * factors l' u end.

(** int_0^t u^k * factors l u du *)
Fixpoint J (t : R) (k : nat) (l : list R) : R :=
  match l with [] => t ^ S k / INR (S k) | z :: l' => J t k l' - z * J t (S k) l' end.

Fixpoint area (l : list R) (k : nat) (x : R) : R :=
  match l with [] => x ^ S k / INR (S k) | z :: l' => area l' k x - z * area l' (S k) x end.

Lemma area_derivative l : forall k x, derivable_pt_lim (area l k) x (x ^ k * factors l x).
Proof.
  induction l as [|z l IH]; intros k x; cbn [area factors].
  - replace (x ^ k * 1) with (/ INR (S k) * (INR (S k) * x ^ k)).
    2:{ field. apply not_0_INR. lia. }
    apply derivable_pt_lim_ext with (fun x => / INR (S k) * x ^ S k).
    { intro y. unfold Rdiv. ring. }
    apply (derivable_pt_lim_scal (fun x => x ^ S k)). apply derivable_pt_lim_pow.
  - replace (x ^ k * ((1 - z * x) * factors l x))
      with (x ^ k * factors l x - z * (x ^ S k * factors l x)) by (cbn [pow]; ring).
    apply (derivable_pt_lim_minus (area l k) (fun x => z * area l (S k) x)); [apply IH|].
    apply (derivable_pt_lim_scal (area l (S k))). apply IH.
Qed.

Lemma J_area t l : forall k, J t k l = area l k t - area l k 0.
Proof.
  induction l as [|z l IH]; intro k; cbn [J area].
  - rewrite pow_i by lia. unfold Rdiv. ring.
  - rewrite !IH. ring.
Qed.

Lemma J_integral t k l : integral (fun u => u ^ k * factors l u) 0 t (J t k l).
Proof. exists (area l k). split; [apply area_derivative|apply J_area]. Qed.

Lemma J0_integral t l : integral (factors l) 0 t (J t 0 l).
Proof. eapply integral_ext; [|apply J_integral]. intro u. cbn. ring. Qed.

Lemma J1_integral t l : integral (fun u => u * factors l u) 0 t (J t 1 l).
Proof. eapply integral_ext; [|apply J_integral]. intro u. cbn. ring. Qed.

Lemma factors_pos l u : (forall z, In z l -> 0 <= z <= 1) -> 0 <= u < 1 -> 0 < factors l u.
Proof.
  intros H Hu. induction l as [|z l IH]; cbn; [lra|].
  apply Rmult_lt_0_compat; [|apply IH; intros; apply H; now right].
  specialize (H z (or_introl eq_refl)). nra.
Qed.

Lemma factors_nonneg l u : (forall z, In z l -> 0 <= z <= 1) -> 0 <= u <= 1 -> 0 <= factors l u.
Proof.
  intros H Hu. induction l as [|z l IH]; cbn; [lra|].
  apply Rmult_le_pos; [|apply IH; intros; apply H; now right].
  specialize (H z (or_introl eq_refl)). nra.
Qed.

Lemma J_pos l : (forall z, In z l -> 0 <= z <= 1) -> 0 < J 1 0 l.
Proof.
  intros H. apply (integral_pos (factors l) 0 1); [lra| |apply J0_integral].
  intros u Hu. apply factors_pos; [assumption|lra].
Qed.

Lemma factors_scaled c l u : factors l (c * u) = factors (map (Rmult c) l) u.
Proof. induction l as [|z l IH]; cbn; [reflexivity|]. rewrite IH. ring. Qed.

(** Smaller z, larger product. *)
Lemma factors_le l l' u : Forall2 (fun a b => 0 <= b <= a /\ a <= 1) l l' -> 0 <= u <= 1 -> factors l u <= factors l' u.
Proof.
  intros H Hu. induction H as [|a b l l' Hab H IH]; cbn; [lra|].
  assert (0 <= factors l u).
  { apply factors_nonneg; [|assumption]. clear - H. induction H as [|a b l l' Hab H IH]; intros z Hz; [easy|].
    destruct Hz as [<-|Hz]; [lra|auto]. }
  apply Rmult_le_compat; auto; nra.
Qed.
