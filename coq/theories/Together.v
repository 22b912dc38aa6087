(** Several answers about one database: disjoint groups, persons with several records, the pair (U, V).

    groups_private         one mechanism for each of several disjoint groups: only the groups that differ are paid for
    parallel_composition   hence a record of one group costs epsilon, however many groups there are
    persons_private        a person with at most r records in each of at most c groups costs c * r epsilons
    persons_reach_private  and c epsilons where each mechanism covers r records at once
    pair_private           U = sum v and V = sum (w - v), each at epsilon/w for every unit, cost epsilon together *)
From Coq Require Import ZArith Reals List Bool Lra Lia Arith.
From Inbounds Require Import Exp Privacy Neighbours Passport Kinds.
Import ListNotations.
Open Scope R_scope.

Definition not_negative {A O} (m : mechanism A O) : Prop := forall a o, 0 <= mass m a o.

(** Group privacy for every output, at most k changes. *)
Lemma chain_pointwise {A O} near e (m : mechanism A O) : pointwise near e m ->
  forall k, pointwise (chain near k) (INR k * e) m.
Proof.
  intros H. induction k as [|k IH]; intros a c Hc o Ho; inversion Hc; subst.
  - cbn. rewrite Rmult_0_l, exp_0. lra.
  - rewrite S_INR. replace ((INR k + 1) * e) with (e + INR k * e) by ring. rewrite exp_plus, Rmult_assoc.
    eapply Rle_trans; [now apply H with (b := b)|].
    apply Rmult_le_compat_l; [left; apply exp_pos|]. now apply IH.
Qed.

Definition at_most {A} (near : A -> A -> Prop) (k : nat) (a b : A) : Prop :=
  exists i, (i <= k)%nat /\ chain near i a b.

Lemma at_most_pointwise {A O} near e (m : mechanism A O) k : 0 <= e -> not_negative m -> pointwise near e m ->
  pointwise (at_most near k) (INR k * e) m.
Proof.
  intros He Hm H a b (i & Hi & Hc) o Ho. eapply Rle_trans; [now apply (chain_pointwise near e m H i a b)|].
  apply Rmult_le_compat_r; [apply Hm|]. apply exp_le. apply Rmult_le_compat_r; [assumption|]. now apply le_INR.
Qed.

(** * Disjoint groups *)
Fixpoint tuples {O} (ls : list (list O)) : list (list O) :=
  match ls with [] => [[]] | l :: ls' => flat_map (fun o => map (cons o) (tuples ls')) l end.

Fixpoint joint_mass {A O} (ms : list (mechanism A O)) (db : list A) (os : list O) : R :=
  match ms, db, os with
  | m :: ms', a :: db', o :: os' => mass m a o * joint_mass ms' db' os'
  | _, _, _ => 1
  end.

(** Mechanism number g answers about group number g, with randomness of its own. *)
Definition side_by_side {A O} (ms : list (mechanism A O)) : mechanism (list A) (list O) :=
  Mechanism (tuples (map outs ms)) (joint_mass ms).

(** At most c groups differ, each of them by a change of [near]. *)
Inductive groups_differ {A} (near : A -> A -> Prop) : nat -> list A -> list A -> Prop :=
| differ_nowhere c : groups_differ near c [] []
| differ_not_here c a db db' : groups_differ near c db db' -> groups_differ near c (a :: db) (a :: db')
| differ_here c a b db db' : near a b -> groups_differ near c db db' -> groups_differ near (S c) (a :: db) (b :: db').

Lemma joint_mass_pos {A O} (ms : list (mechanism A O)) : (forall m, In m ms -> not_negative m) ->
  forall db os, 0 <= joint_mass ms db os.
Proof.
  induction ms as [|m ms IH]; intros H [|a db] [|o os]; cbn [joint_mass]; try lra.
  apply Rmult_le_pos; [apply H; now left|]. apply IH. intros; apply H; now right.
Qed.

Theorem groups_pointwise {A O} near e (ms : list (mechanism A O)) c : 0 <= e ->
  (forall m, In m ms -> not_negative m /\ pointwise near e m) ->
  pointwise (groups_differ near c) (INR c * e) (side_by_side ms).
Proof.
  intros He. revert c. induction ms as [|m ms IH]; intros c H db db' Hd os Ho.
  - cbn. assert (0 <= INR c * e) by (apply Rmult_le_pos; [apply pos_INR|assumption]).
    pose proof (exp_le 0 (INR c * e) H0) as E. rewrite exp_0 in E. lra.
  - cbn [side_by_side outs map tuples] in Ho. apply in_flat_map in Ho as (o & Ho & Hos).
    apply in_map_iff in Hos as (os' & <- & Hos).
    destruct (H m (or_introl eq_refl)) as [Pm Qm].
    assert (IH' : forall c, pointwise (groups_differ near c) (INR c * e) (side_by_side ms))
      by (intro; apply IH; intros; apply H; now right).
    assert (Pms : forall d l, 0 <= joint_mass ms d l)
      by (apply joint_mass_pos; intros m' Hm'; apply (H m'); now right).
    cbn [side_by_side mass]. inversion Hd; subst; cbn [joint_mass].
    + assert (E : 0 <= INR c * e) by (apply Rmult_le_pos; [apply pos_INR|assumption]).
      pose proof (exp_le 0 _ E) as E1. rewrite exp_0 in E1. lra.
    + specialize (IH' c _ _ H0 os' Hos). cbn [side_by_side mass] in IH'.
      rewrite <- Rmult_assoc, (Rmult_comm (exp _)), Rmult_assoc. apply Rmult_le_compat_l; [apply Pm|exact IH'].
    + specialize (IH' c0 _ _ H1 os' Hos). cbn [side_by_side mass] in IH'.
      rewrite S_INR. replace ((INR c0 + 1) * e) with (e + INR c0 * e) by ring. rewrite exp_plus.
      replace (exp e * exp (INR c0 * e) * (mass m b o * joint_mass ms db'0 os'))
        with (exp e * mass m b o * (exp (INR c0 * e) * joint_mass ms db'0 os')) by ring.
      apply Rmult_le_compat; auto.
Qed.

Theorem groups_private {A O} near e (ms : list (mechanism A O)) c : 0 <= e ->
  (forall m, In m ms -> not_negative m /\ pointwise near e m) ->
  private (groups_differ near c) (INR c * e) (side_by_side ms).
Proof. intros. apply pointwise_private. now apply groups_pointwise. Qed.

(** One record in one group: epsilon once. *)
Theorem parallel_composition {A O} near e (ms : list (mechanism A O)) : 0 <= e ->
  (forall m, In m ms -> not_negative m /\ pointwise near e m) ->
  private (groups_differ near 1) e (side_by_side ms).
Proof. intros He H. rewrite <- (Rmult_1_l e) at 1. apply (groups_private near e ms 1 He H). Qed.

(** * Persons with several records *)
Section Persons.
  Variables (P : Type) (is_theirs : P -> bool).  (* the records of one person *)

  Definition without (group : list P) : list P := filter (fun x => negb (is_theirs x)) group.
  Definition records_in (group : list P) : nat := count is_theirs group.
  Definition groups_of (db : list (list P)) : nat := count (fun g => Nat.ltb 0 (records_in g)) db.

  Lemma chain_cons_near {A} (near near' : list A -> list A -> Prop) x k :
    (forall a b, near a b -> near' (x :: a) (x :: b)) ->
    forall a b, chain near k a b -> chain near' k (x :: a) (x :: b).
  Proof. intros H a b Hc. induction Hc; [constructor|]. econstructor; [apply H; eassumption|assumption]. Qed.

  Lemma without_chain group : chain added (records_in group) group (without group).
  Proof.
    induction group as [|x group IH]; [constructor|]. unfold records_in, without in *. cbn [count filter].
    destruct (is_theirs x); cbn [negb].
    - econstructor; [right; constructor|exact IH].
    - apply (chain_cons_near added added); [|exact IH].
      intros a b [H|H]; [left|right]; now constructor.
  Qed.

  Lemma person_differs (near : list P -> list P -> Prop) (db : list (list P)) :
    (forall g, In g db -> (0 < records_in g)%nat -> near g (without g)) ->
    groups_differ near (groups_of db) db (map without db).
  Proof.
    intros H. induction db as [|g db IH]; [constructor|]. unfold groups_of. cbn [map count].
    fold (groups_of db). specialize (IH ltac:(intros; apply H; [now right|assumption])).
    destruct (Nat.ltb_spec 0 (records_in g)) as [Hg|Hg].
    - apply differ_here; [apply H; [now left|assumption]|assumption].
    - assert (E : without g = g).
      { pose proof (without_chain g) as C. assert (records_in g = 0)%nat as R0 by lia. rewrite R0 in C. inversion C. congruence. }
      rewrite E. apply differ_not_here. exact IH.
  Qed.

  Lemma groups_differ_more {A} (near : A -> A -> Prop) c c' db db' : (c <= c')%nat ->
    groups_differ near c db db' -> groups_differ near c' db db'.
  Proof.
    intros Hc H. revert c' Hc. induction H; intros c' Hc.
    - constructor.
    - constructor. auto.
    - destruct c' as [|c']; [lia|]. constructor; [assumption|]. apply IHgroups_differ. lia.
  Qed.

  (** Mechanisms that cover one record each: c * r epsilons for a person with at most r records in at most c groups. *)
  Theorem persons_private {O} e (ms : list (mechanism (list P) O)) c r db : 0 <= e ->
    (forall m, In m ms -> not_negative m /\ pointwise added e m) ->
    (forall g, In g db -> (records_in g <= r)%nat) -> (groups_of db <= c)%nat ->
    forall S, Pr (side_by_side ms) db S <= exp (INR c * (INR r * e)) * Pr (side_by_side ms) (map without db) S.
  Proof.
    intros He Hm Hr Hc. apply (groups_private (at_most added r) (INR r * e) ms c).
    - apply Rmult_le_pos; [apply pos_INR|assumption].
    - intros m Hin. destruct (Hm m Hin). split; [assumption|]. now apply at_most_pointwise.
    - apply groups_differ_more with (groups_of db); [assumption|]. apply person_differs. intros g Hg _.
      exists (records_in g). split; [auto|apply without_chain].
  Qed.

  (** Mechanisms that cover r records at once, as a count of reach r: c epsilons. *)
  Theorem persons_reach_private {O} e (ms : list (mechanism (list P) O)) c r db : 0 <= e ->
    (forall m, In m ms -> not_negative m /\ pointwise (at_most added r) e m) ->
    (forall g, In g db -> (records_in g <= r)%nat) -> (groups_of db <= c)%nat ->
    forall S, Pr (side_by_side ms) db S <= exp (INR c * e) * Pr (side_by_side ms) (map without db) S.
  Proof.
    intros He Hm Hr Hc. apply (groups_private (at_most added r) e ms c He Hm).
    apply groups_differ_more with (groups_of db); [assumption|]. apply person_differs. intros g Hg _.
    exists (records_in g). split; [auto|apply without_chain].
  Qed.
End Persons.

(** * The pair U = sum v, V = sum (w - v): a record costs v/w of epsilon there and (w - v)/w here *)
Definition per_unit {O} (e : R) (m : mechanism Z O) : Prop :=
  forall x y o, In o (outs m) -> mass m x o <= exp (e * IZR (Z.abs (x - y))) * mass m y o.

Theorem pair_private {P O O'} (v : P -> Z) (w : Z) (e : R) (mU : mechanism Z O) (mV : mechanism Z O') most :
  (0 < w)%Z -> (0 <= most)%Z -> 0 <= e -> (forall x, 0 <= v x <= w)%Z -> not_negative mU -> not_negative mV ->
  per_unit (e / IZR w) mU -> per_unit (e / IZR w) mV ->
  private (@added P) e
    (compose (ask (fun db => clamp 0 most (total v db)) mU)
             (fun _ => ask (fun db => clamp 0 most (total (fun x => w - v x)%Z db)) mV)).
Proof.
  intros Hw Hmost He Hv PU PV HU HV. apply pointwise_private. intros db db' Hd [o o'] Hin. cbn in Hin |- *.
  apply in_flat_map in Hin as (x & Hx & Hxo). apply in_map_iff in Hxo as (y & Heq & Hy). injection Heq as -> ->.
  apply IZR_pos in Hw as Hw'.
  assert (K : exists t, (0 <= t <= w)%Z /\ (Z.abs (total v db - total v db') = t)%Z /\
                        (Z.abs (total (fun x => w - v x) db - total (fun x => w - v x) db') = w - t)%Z).
  { assert (E : forall a b, extended a b -> exists t, (0 <= t <= w)%Z /\ (total v b - total v a = t)%Z /\
                 (total (fun x => w - v x) b - total (fun x => w - v x) a = w - t)%Z).
    { intros a b H. induction H.
      - exists (v x). cbn. pose proof (Hv x). repeat split; lia.
      - destruct IHextended as (t & A & B & C). exists t. cbn. repeat split; lia. }
    destruct Hd as [H|H]; destruct (E _ _ H) as (t & A & B & C); exists t; repeat split; lia. }
  destruct K as (t & Ht & EU & EV).
  set (u := clamp 0 most (total v db)). set (u' := clamp 0 most (total v db')).
  set (z := clamp 0 most (total (fun x => w - v x)%Z db)). set (z' := clamp 0 most (total (fun x => w - v x)%Z db')).
  assert (U1 : (Z.abs (u - u') <= t)%Z) by (rewrite <- EU; now apply clamp_lipschitz).
  assert (V1 : (Z.abs (z - z') <= w - t)%Z) by (rewrite <- EV; now apply clamp_lipschitz).
  assert (Hew : 0 <= e / IZR w) by (apply Rmult_le_pos; [assumption|left; now apply Rinv_0_lt_compat]).
  assert (A : mass mU u o <= exp (e / IZR w * IZR t) * mass mU u' o).
  { eapply Rle_trans; [now apply HU|]. apply Rmult_le_compat_r; [apply PU|]. apply exp_le.
    apply Rmult_le_compat_l; [assumption|]. now apply IZR_le. }
  assert (B : mass mV z o' <= exp (e / IZR w * IZR (w - t)) * mass mV z' o').
  { eapply Rle_trans; [now apply HV|]. apply Rmult_le_compat_r; [apply PV|]. apply exp_le.
    apply Rmult_le_compat_l; [assumption|]. now apply IZR_le. }
  replace (exp e) with (exp (e / IZR w * IZR t) * exp (e / IZR w * IZR (w - t))).
  - replace (exp (e / IZR w * IZR t) * exp (e / IZR w * IZR (w - t)) * (mass mU u' o * mass mV z' o'))
      with (exp (e / IZR w * IZR t) * mass mU u' o * (exp (e / IZR w * IZR (w - t)) * mass mV z' o')) by ring.
    apply Rmult_le_compat; auto.
  - rewrite <- exp_plus. f_equal. rewrite minus_IZR. field. lra.
Qed.

(** A passport for neighbours one step apart, at epsilon' for a step, is [per_unit epsilon']: positions of a grid
    without gaps, answers moved into 0 .. size - 1. *)
Theorem passport_per_unit p r : check_passport p = true -> near p = ByReach r -> regular (ticks (answers p)) = true ->
  per_unit (real (epsilon p)) (ask (fun x => Z.to_nat (clamp 0 (size_of (ticks (answers p)) - 1) x)) (law_of p)).
Proof.
  intros Hp Hn Hreg x y o Ho. cbn [ask outs mass] in *.
  pose proof (ticks_ok p Hp) as T. pose proof (size_pos _ T) as Sp.
  pose proof (real_epsilon_pos p Hp) as Ep. pose proof (reach_at_least_one p Hp r Hn) as R1.
  set (last := (size_of (ticks (answers p)) - 1)%Z) in *.
  set (f := fun j => real (epsilon p) * INR j).
  set (j := Z.to_nat (clamp 0 last x)). set (k := Z.to_nat (clamp 0 last y)).
  assert (Hj : (j < positions p)%nat) by (unfold j, positions, clamp, last; lia).
  assert (Hk : (k < positions p)%nat) by (unfold k, positions, clamp, last; lia).
  assert (L : mass (law_of p) j o <= exp (Rabs (f j - f k)) * mass (law_of p) k o).
  { apply (line (law_of p) (positions p) f o); auto.
    - intros c Hc. replace (f (S c) - f c) with (real (epsilon p) * 1) by (unfold f; rewrite S_INR; ring).
      assert (E : forall a b, (a < positions p)%nat -> (b < positions p)%nat -> (Z.abs (Z.of_nat a - Z.of_nat b) <= 1)%Z ->
                price (tick_at p) (near_ticks p) a b = Some 1).
      { intros a b Ha Hb Hab. unfold near_ticks. rewrite Hn. cbn [price].
        rewrite !(regular_tick p Hp Hreg) by assumption.
        destruct (Z.leb_spec (Z.abs (Z.of_nat a - Z.of_nat b)) r); [reflexivity|lia]. }
      split; apply passport_pointwise; auto; try lia; apply E; lia.
    - intros a b Hab. unfold f. apply Rmult_le_compat_l; [lra|]. apply le_INR. lia. }
  eapply Rle_trans; [exact L|]. apply Rmult_le_compat_r.
  - apply (passport_distribution p Hp k Hk).
  - apply exp_le. unfold f. replace (real (epsilon p) * INR j - real (epsilon p) * INR k)
      with (real (epsilon p) * (INR j - INR k)) by ring.
    rewrite Rabs_mult, Rabs_right by lra. apply Rmult_le_compat_l; [lra|].
    rewrite !INR_IZR_INZ, <- minus_IZR, <- abs_IZR. apply IZR_le. unfold j, k.
    rewrite !Z2Nat.id by (unfold clamp; lia). apply clamp_lipschitz. lia.
Qed.
