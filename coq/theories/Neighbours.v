(** Who is whose neighbour: query/neighbours.py turns the ticks of the answers into runs, and the runs hold them all.

    [price ticks near j k] is how many epsilons pay for telling answer j from answer k, [None] where nothing is
    promised. The checkers see runs only.

    reach_runs_cover    any two answers at most the reach apart stand in one run
    metric_runs_cover   consecutive answers are a run, at their distance
    telescoping         ratios along a line multiply, so consecutive answers are enough
    weights_pointwise   a matrix that is accepted for the runs keeps the price of any two answers *)
From Coq Require Import ZArith Reals List Bool Lra Lia Psatz Arith.
From Inbounds Require Import Exp Privacy Matrix.
Import ListNotations.
Open Scope Z_scope.

Inductive near_by := Reach (steps : Z) | Everyone | Metric (num den : Z).
(** [Metric num den]: one tick is num/den units of distance. *)

Fixpoint rising (ticks : list Z) : bool :=
  match ticks with
  | a :: ((b :: _) as rest) => (a <? b) && rising rest
  | _ => true
  end.

Fixpoint span (limit : Z) (ticks : list Z) : nat :=
  match ticks with
  | t :: rest => if t <=? limit then S (span limit rest) else O
  | [] => O
  end.

Fixpoint reach_runs (r : Z) (a before : nat) (ticks : list Z) : list clique :=
  match ticks with
  | [] => []
  | t :: rest =>
      let stop := (a + span (t + r) ticks)%nat in
      (if (before <? stop)%nat && (S a <? stop)%nat then [Clique a stop 1 1] else [])
        ++ reach_runs r (S a) (Nat.max before stop) rest
  end.

Fixpoint metric_runs (num den : Z) (a : nat) (ticks : list Z) : list clique :=
  match ticks with
  | t :: ((t' :: _) as rest) => Clique a (S (S a)) ((t' - t) * num) den :: metric_runs num den (S a) rest
  | _ => []
  end.

Definition runs (ticks : list Z) (near : near_by) : list clique :=
  match near with
  | Reach r => reach_runs r 0 0 ticks
  | Everyone => [Clique 0 (length ticks) 1 1]
  | Metric num den => metric_runs num den 0 ticks
  end.

(** * Rising ticks *)
Lemma rising_tail t rest : rising (t :: rest) = true -> rising rest = true.
Proof. destruct rest; cbn; [easy|]. intros H. now apply andb_true_iff in H. Qed.

Lemma rising_nth ticks : rising ticks = true -> forall i j, (i < j < length ticks)%nat ->
  nth i ticks 0 < nth j ticks 0.
Proof.
  induction ticks as [|t rest IH]; intros H i j Hij; [cbn in Hij; lia|].
  specialize (IH (rising_tail _ _ H)). destruct j as [|j]; [lia|]. cbn [length] in Hij.
  destruct i as [|i]; [|cbn [nth]; apply IH; lia].
  destruct rest as [|t' rest]; [cbn in Hij; lia|].
  assert (Ht : t < t') by (cbn in H; apply andb_true_iff in H as [H _]; now apply Z.ltb_lt).
  destruct j as [|j]; [assumption|]. specialize (IH 0%nat (S j) ltac:(lia)). cbn [nth] in *. lia.
Qed.

Lemma span_spec limit ticks : rising ticks = true -> forall k, (k < length ticks)%nat -> nth k ticks 0 <= limit ->
  (k < span limit ticks)%nat.
Proof.
  induction ticks as [|t rest IH]; intros H k Hk Hle; [cbn in Hk; lia|].
  assert (Ht : t <= limit).
  { destruct k as [|k]; [assumption|]. pose proof (rising_nth _ H 0 (S k) ltac:(lia)). cbn [nth] in *. lia. }
  cbn [span]. apply Z.leb_le in Ht. rewrite Ht. destruct k as [|k]; [lia|].
  apply -> Nat.succ_lt_mono. apply IH; [eapply rising_tail, H|cbn in Hk; lia|assumption].
Qed.

Lemma reach_runs_cover r ticks : rising ticks = true -> forall a before j k, (j < k < length ticks)%nat ->
  nth k ticks 0 - nth j ticks 0 <= r ->
  (exists c, In c (reach_runs r a before ticks) /\ (start c <= a + j)%nat /\ (a + k < stop c)%nat /\ dnum c = 1 /\ dden c = 1)
  \/ (a + k < before)%nat.
Proof.
  induction ticks as [|t rest IH]; intros H a before j k Hjk Hr; [cbn in Hjk; lia|].
  cbn [reach_runs]. set (stop' := (a + span (t + r) (t :: rest))%nat).
  destruct j as [|j].
  - assert (k < span (t + r) (t :: rest))%nat by (apply span_spec; [assumption|lia|cbn [nth] in *; lia]).
    destruct (Nat.ltb_spec before stop') as [Hb|Hb]; [|right; lia].
    destruct (Nat.ltb_spec (S a) stop') as [Hs|Hs]; [|lia].
    left. eexists. split; [left; reflexivity|]. cbn. repeat split; lia.
  - destruct k as [|k]; [lia|]. cbn [length] in Hjk. cbn [nth] in Hr.
    destruct (IH (rising_tail _ _ H) (S a) (Nat.max before stop') j k ltac:(lia) Hr) as [(c & Hc & Hs & He & Hd)|Hlt].
    + left. exists c. split; [apply in_or_app; now right|]. repeat split; try lia; apply Hd.
    + destruct (Nat.ltb_spec before stop') as [Hb|Hb]; [|right; lia].
      destruct (Nat.ltb_spec (S a) stop') as [Hs|Hs]; [|lia].
      left. eexists. split; [left; reflexivity|]. cbn. repeat split; lia.
Qed.

Lemma metric_runs_cover num den ticks : forall a j, (S j < length ticks)%nat ->
  In (Clique (a + j) (S (S (a + j))) ((nth (S j) ticks 0 - nth j ticks 0) * num) den) (metric_runs num den a ticks).
Proof.
  induction ticks as [|t rest IH]; intros a j Hj; [cbn in Hj; lia|].
  destruct rest as [|t' rest]; [cbn in Hj; lia|]. cbn [metric_runs].
  destruct j as [|j].
  - left. rewrite Nat.add_0_r. reflexivity.
  - right. specialize (IH (S a) j ltac:(cbn in *; lia)). replace (a + S j)%nat with (S a + j)%nat by lia. exact IH.
Qed.

(** * Ratios along a line multiply *)
Open Scope R_scope.

Lemma telescoping {O} (m : mechanism nat O) (n : nat) (f : nat -> R) (i : O) :
  (forall j, (S j < n)%nat -> mass m j i <= exp (f (S j) - f j) * mass m (S j) i /\
                             mass m (S j) i <= exp (f (S j) - f j) * mass m j i) ->
  forall d j, (j + d < n)%nat -> mass m j i <= exp (f (j + d)%nat - f j) * mass m (j + d)%nat i /\
                                 mass m (j + d)%nat i <= exp (f (j + d)%nat - f j) * mass m j i.
Proof.
  intros H. induction d as [|d IH]; intros j Hj.
  - rewrite Nat.add_0_r. replace (f j - f j) with 0 by ring. rewrite exp_0. lra.
  - destruct (IH j ltac:(lia)) as [A B]. replace (j + S d)%nat with (S (j + d)) in * by lia.
    destruct (H (j + d)%nat Hj) as [C D].
    replace (f (S (j + d)) - f j) with ((f (j + d)%nat - f j) + (f (S (j + d)) - f (j + d)%nat)) by ring.
    rewrite exp_plus. set (x := exp (f (j + d)%nat - f j)) in *. set (y := exp (f (S (j + d)) - f (j + d)%nat)) in *.
    assert (0 < x) by apply exp_pos. assert (0 < y) by apply exp_pos. split.
    + apply Rle_trans with (1 := A). rewrite Rmult_assoc. apply Rmult_le_compat_l; lra.
    + apply Rle_trans with (1 := D). rewrite (Rmult_comm x), Rmult_assoc. apply Rmult_le_compat_l; lra.
Qed.

(** Along a line, either way round. *)
Lemma line {O} (m : mechanism nat O) (n : nat) (f : nat -> R) (i : O) :
  (forall j, (S j < n)%nat -> mass m j i <= exp (f (S j) - f j) * mass m (S j) i /\
                             mass m (S j) i <= exp (f (S j) - f j) * mass m j i) ->
  (forall j k, (j <= k < n)%nat -> f j <= f k) ->
  forall j k, (j < n)%nat -> (k < n)%nat -> mass m j i <= exp (Rabs (f j - f k)) * mass m k i.
Proof.
  intros H Hf j k Hj Hk. destruct (le_lt_dec j k) as [Hle|Hlt].
  - destruct (telescoping m n f i H (k - j)%nat j ltac:(lia)) as [A _].
    replace (j + (k - j))%nat with k in A by lia. rewrite Rabs_minus_sym, Rabs_right; [exact A|].
    pose proof (Hf j k ltac:(lia)). lra.
  - destruct (telescoping m n f i H (j - k)%nat k ltac:(lia)) as [_ A].
    replace (k + (j - k))%nat with j in A by lia. rewrite Rabs_right; [exact A|].
    pose proof (Hf k j ltac:(lia)). lra.
Qed.

(** * What is promised *)
Definition tick (ticks : list Z) (j : nat) : Z := nth j ticks 0%Z.

(** How many epsilons pay for telling answer j from answer k; [None]: nothing is promised. *)
Definition price (ticks : nat -> Z) (near : near_by) (j k : nat) : option R :=
  match near with
  | Reach r => if (Z.abs (ticks j - ticks k) <=? r)%Z then Some 1 else None
  | Everyone => Some 1
  | Metric num den => Some (IZR (Z.abs (ticks j - ticks k)) * (IZR num / IZR den))
  end.

Lemma same_answer {O} (m : mechanism nat O) e j i : 0 <= e -> 0 <= mass m j i -> mass m j i <= exp e * mass m j i.
Proof.
  intros He Hm. pose proof (exp_le 0 e He) as E. rewrite exp_0 in E.
  apply Rle_trans with (1 * mass m j i); [lra|]. now apply Rmult_le_compat_r.
Qed.

Definition metric_ok (near : near_by) : Prop :=
  match near with Metric num den => (0 <= num)%Z /\ (0 < den)%Z | _ => True end.

Section Weights.
  Variables (ticks : list Z) (near : near_by) (total : Z) (W : list (list Z)) (en ed : Z).
  Hypothesis rises : rising ticks = true.
  Hypothesis metric : metric_ok near.
  Hypothesis accepted : check_product total (length ticks) W (runs ticks near) en ed = true.
  Let n := length ticks.
  Let m := law total W.

  Theorem weights_pointwise j k d : (j < n)%nat -> (k < n)%nat -> price (tick ticks) near j k = Some d ->
    forall i, In i (outs m) -> mass m j i <= exp (eps en ed * d) * mass m k i.
  Proof.
    intros Hj Hk Hd i Hi. pose proof accepted as H. pose proof metric as Hm.
    pose proof (eps_nonneg _ _ _ _ _ _ accepted) as Heps.
    destruct near as [r| |num den]; cbn [runs price metric_ok] in *.
    - destruct (Z.leb_spec (Z.abs (tick ticks j - tick ticks k)) r) as [Hle|]; [|discriminate].
      injection Hd as <-. rewrite Rmult_1_r. destruct (Nat.eq_dec j k) as [->|Hne].
      { apply same_answer; [assumption|]. apply (law_mass_pos _ _ _ _ _ _ H). }
      assert (C : exists c, In c (reach_runs r 0 0 ticks) /\ common c j k /\ dnum c = 1%Z /\ dden c = 1%Z).
      { unfold tick in Hle. destruct (lt_dec j k) as [Hlt|Hlt].
        - pose proof (rising_nth _ rises j k ltac:(fold n; lia)).
          destruct (reach_runs_cover r ticks rises 0 0 j k ltac:(fold n; lia) ltac:(lia)) as [(c & Hc & A & B & D1 & D2)|?]; [|lia].
          exists c. unfold common. repeat split; auto; lia.
        - pose proof (rising_nth _ rises k j ltac:(fold n; lia)).
          destruct (reach_runs_cover r ticks rises 0 0 k j ltac:(fold n; lia) ltac:(lia)) as [(c & Hc & A & B & D1 & D2)|?]; [|lia].
          exists c. unfold common. repeat split; auto; lia. }
      destruct C as (c & Hc & Hcom & D1 & D2).
      pose proof (law_pointwise _ _ _ _ _ _ H c Hc j k Hcom i Hi) as G.
      unfold distance in G. rewrite D1, D2 in G. replace (1 / 1) with 1 in G by field. now rewrite Rmult_1_r in G.
    - injection Hd as <-.
      pose proof (law_pointwise _ _ _ _ _ _ H (Clique 0 n 1 1) (or_introl eq_refl) j k) as G.
      unfold distance in G. cbn [dnum dden] in G. replace (1 / 1) with 1 in G by field.
      apply G; [unfold common; cbn; lia|assumption].
    - injection Hd as <-. destruct Hm as [Hnum Hden]. apply IZR_pos in Hden. apply IZR_le in Hnum.
      set (f := fun j => eps en ed * (IZR (tick ticks j) * (IZR num / IZR den))).
      assert (Q0 : 0 <= IZR num / IZR den) by (apply Rmult_le_pos; [lra|left; now apply Rinv_0_lt_compat]).
      replace (eps en ed * (IZR (Z.abs (tick ticks j - tick ticks k)) * (IZR num / IZR den)))
        with (Rabs (f j - f k)).
      + apply (line m n f i); try assumption.
        * intros a Ha. pose proof (metric_runs_cover num den ticks 0 a ltac:(fold n; lia)) as Hin. cbn [Nat.add] in Hin.
          set (c := Clique _ _ _ _) in Hin.
          assert (E : f (S a) - f a = eps en ed * distance c).
          { unfold f, c, distance, tick. cbn [dnum dden]. rewrite mult_IZR, !minus_IZR. field. lra. }
          rewrite E. split; apply (law_pointwise _ _ _ _ _ _ H c Hin); try assumption; unfold common, c; cbn; lia.
        * intros a b Hab. unfold f. apply Rmult_le_compat_l; [assumption|]. apply Rmult_le_compat_r; [assumption|].
          apply IZR_le. unfold tick. destruct (Nat.eq_dec a b) as [->|]; [lia|].
          pose proof (rising_nth _ rises a b ltac:(fold n; lia)). lia.
      + unfold f. rewrite abs_IZR, minus_IZR.
        replace (eps en ed * (IZR (tick ticks j) * (IZR num / IZR den)) - eps en ed * (IZR (tick ticks k) * (IZR num / IZR den)))
          with ((eps en ed * (IZR num / IZR den)) * (IZR (tick ticks j) - IZR (tick ticks k))) by ring.
        rewrite Rabs_mult, Rabs_right; [ring|]. apply Rle_ge, Rmult_le_pos; assumption.
  Qed.
End Weights.
