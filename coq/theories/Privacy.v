(** Differential privacy of finite mechanisms, as the textbooks have it.

    A mechanism has finitely many outputs and gives each a mass; [private near e m] says that for neighbouring inputs
    a, b and every set S of outputs Pr[m a in S] <= exp e * Pr[m b in S]. With all masses not negative this is the same
    as the inequality for every single output ([pointwise]).

    pointwise_private           from single outputs to sets
    post_processing             whatever is computed from the output is as private
    randomised_post_processing  with randomness of its own, too
    composition                 epsilons add up, the second mechanism chosen by the output of the first
    group_privacy               k changes cost k epsilons
    ask_private                 from answers to the databases that have them *)
Require Import Reals List Bool Lra Lia.
Import ListNotations.
Open Scope R_scope.

Fixpoint rsum {O} (l : list O) (f : O -> R) : R :=
  match l with [] => 0 | o :: l' => f o + rsum l' f end.

(** A mechanism from inputs A to outputs O: finitely many outputs and the mass of each. *)
Record mechanism (A O : Type) := Mechanism { outs : list O; mass : A -> O -> R }.
Arguments outs {A O}. Arguments mass {A O}. Arguments Mechanism {A O}.

Definition Pr {A O} (m : mechanism A O) (a : A) (S : O -> bool) : R :=
  rsum (outs m) (fun o => if S o then mass m a o else 0).

Definition distribution {A O} (m : mechanism A O) (a : A) : Prop :=
  (forall o, 0 <= mass m a o) /\ Pr m a (fun _ => true) = 1.

Definition pointwise {A O} (near : A -> A -> Prop) (e : R) (m : mechanism A O) : Prop :=
  forall a b, near a b -> forall o, In o (outs m) -> mass m a o <= exp e * mass m b o.

(** Differential privacy, for every set of outputs. *)
Definition private {A O} (near : A -> A -> Prop) (e : R) (m : mechanism A O) : Prop :=
  forall a b, near a b -> forall S, Pr m a S <= exp e * Pr m b S.

Lemma rsum_le {O} (l : list O) f g : (forall o, In o l -> f o <= g o) -> rsum l f <= rsum l g.
Proof. induction l; cbn; intros H; [lra|]. apply Rplus_le_compat; auto. Qed.

Lemma rsum_nonneg {O} (l : list O) f : (forall o, In o l -> 0 <= f o) -> 0 <= rsum l f.
Proof. induction l; cbn; intros H; [lra|]. apply Rplus_le_le_0_compat; auto. Qed.

Lemma rsum_scale {O} (l : list O) c f : rsum l (fun o => c * f o) = c * rsum l f.
Proof. induction l; cbn; [ring|]. rewrite IHl. ring. Qed.

Lemma rsum_app {O} (l l' : list O) f : rsum (l ++ l') f = rsum l f + rsum l' f.
Proof. induction l; cbn; [ring|]. rewrite IHl. ring. Qed.

Lemma rsum_map {O O'} (g : O -> O') l f : rsum (map g l) f = rsum l (fun o => f (g o)).
Proof. induction l; cbn; [reflexivity|]. now rewrite IHl. Qed.

Lemma rsum_ext {O} (l : list O) f g : (forall o, In o l -> f o = g o) -> rsum l f = rsum l g.
Proof. induction l; cbn; intros H; [reflexivity|]. f_equal; auto. Qed.

(** The expectation of any non-negative function: covers randomised post-processing too. *)
Theorem expectation_private {A O} near e (m : mechanism A O) : pointwise near e m ->
  forall a b, near a b -> forall q : O -> R, (forall o, 0 <= q o) ->
  rsum (outs m) (fun o => mass m a o * q o) <= exp e * rsum (outs m) (fun o => mass m b o * q o).
Proof.
  intros H a b Hab q Hq. rewrite <- rsum_scale. apply rsum_le. intros o Ho.
  rewrite <- Rmult_assoc. apply Rmult_le_compat_r; auto.
Qed.

Theorem pointwise_private {A O} near e (m : mechanism A O) : pointwise near e m -> private near e m.
Proof.
  intros H a b Hab S. unfold Pr. rewrite <- rsum_scale. apply rsum_le. intros o Ho.
  destruct (S o); [auto|lra].
Qed.

(** Post-processing: the law of f(output) is Pr[f^-1(S)]. *)
Theorem post_processing {A O O'} near e (m : mechanism A O) (f : O -> O') : private near e m ->
  forall a b, near a b -> forall S : O' -> bool, Pr m a (fun o => S (f o)) <= exp e * Pr m b (fun o => S (f o)).
Proof. intros H a b Hab S. exact (H a b Hab (fun o => S (f o))). Qed.

(** Post-processing as a mechanism with its own randomness: kernel K o gives the law of the new output. *)
Definition followed_by {A O O'} (m : mechanism A O) (outs' : list O') (K : O -> O' -> R) : mechanism A O' :=
  Mechanism outs' (fun a o' => rsum (outs m) (fun o => mass m a o * K o o')).

Theorem randomised_post_processing {A O O'} near e (m : mechanism A O) (outs' : list O') (K : O -> O' -> R) :
  (forall o o', 0 <= K o o') -> pointwise near e m -> private near e (followed_by m outs' K).
Proof.
  intros HK H. apply pointwise_private. intros a b Hab o' _. cbn.
  apply (expectation_private near e m H a b Hab (fun o => K o o')). auto.
Qed.

(** Composition: the second mechanism may depend on the output of the first. *)
Definition compose {A O O'} (m : mechanism A O) (m' : O -> mechanism A O') : mechanism A (O * O') :=
  Mechanism (flat_map (fun o => map (pair o) (outs (m' o))) (outs m))
            (fun a oo => mass m a (fst oo) * mass (m' (fst oo)) a (snd oo)).

Theorem composition {A O O'} near e1 e2 (m : mechanism A O) (m' : O -> mechanism A O') :
  (forall a o, 0 <= mass m a o) -> (forall a o o', 0 <= mass (m' o) a o') ->
  pointwise near e1 m -> (forall o, pointwise near e2 (m' o)) ->
  private near (e1 + e2) (compose m m').
Proof.
  intros P1 P2 H1 H2. apply pointwise_private. intros a b Hab [o o'] Hin. cbn.
  cbn in Hin. apply in_flat_map in Hin as (x & Hx & Hxo).
  apply in_map_iff in Hxo as (y & Heq & Hy). injection Heq as -> ->.
  rewrite exp_plus.
  replace (exp e1 * exp e2 * (mass m b o * mass (m' o) b o'))
    with (exp e1 * mass m b o * (exp e2 * mass (m' o) b o')) by ring.
  apply Rmult_le_compat; auto. now apply (H2 o).
Qed.

(** The composition is a distribution again. *)
Theorem compose_distribution {A O O'} (m : mechanism A O) (m' : O -> mechanism A O') a :
  distribution m a -> (forall o, distribution (m' o) a) -> distribution (compose m m') a.
Proof.
  intros [P1 S1] H2. split.
  - intros [o o']. cbn. apply Rmult_le_pos; [auto|apply (H2 o)].
  - assert (E : forall l, rsum (flat_map (fun o => map (pair o) (outs (m' o))) l)
                   (fun oo => mass m a (fst oo) * mass (m' (fst oo)) a (snd oo)) = rsum l (mass m a)).
    { induction l as [|o l IH]; [reflexivity|]. cbn [flat_map rsum].
      rewrite rsum_app, rsum_map, IH. f_equal. cbn [fst snd].
      rewrite (rsum_scale (outs (m' o)) (mass m a o) (mass (m' o) a)).
      destruct (H2 o) as [_ S2]. unfold Pr in S2. cbv beta iota in S2.
      assert (Hs : rsum (outs (m' o)) (mass (m' o) a) = 1) by (rewrite <- S2; now apply rsum_ext).
      rewrite Hs. ring. }
    unfold Pr in *. cbn [outs mass compose] in *. rewrite <- S1, E. now apply rsum_ext.
Qed.

(** Group privacy. *)
Inductive chain {A} (near : A -> A -> Prop) : nat -> A -> A -> Prop :=
| chain_nil a : chain near 0 a a
| chain_cons k a b c : near a b -> chain near k b c -> chain near (S k) a c.

Theorem group_privacy {A O} near e (m : mechanism A O) : private near e m ->
  forall k, private (chain near k) (INR k * e) m.
Proof.
  intros H. induction k as [|k IH]; intros a c Hc S; inversion Hc; subst.
  - cbn. rewrite Rmult_0_l, exp_0. lra.
  - rewrite S_INR. replace ((INR k + 1) * e) with (e + INR k * e) by ring. rewrite exp_plus, Rmult_assoc.
    eapply Rle_trans; [now apply H with (b := b)|].
    apply Rmult_le_compat_l; [left; apply exp_pos|]. now apply IH.
Qed.

(** Asking through a query: neighbouring databases whose answers are neighbours. *)
Definition ask {D A O} (q : D -> A) (m : mechanism A O) : mechanism D O :=
  Mechanism (outs m) (fun d => mass m (q d)).

Theorem ask_private {D A O} (neardb : D -> D -> Prop) (near : A -> A -> Prop) (q : D -> A) e (m : mechanism A O) :
  (forall d d', neardb d d' -> near (q d) (q d')) -> private near e m -> private neardb e (ask q m).
Proof. intros Hq H d d' Hd S. exact (H _ _ (Hq _ _ Hd) S). Qed.
