(** Path lengths: how many records must change until a statistic is another value.

    least_changes      the least number of steps between neighbours until the statistic is t
    lengths_lipschitz  between neighbours it moves by at most 1
    length_zero        it is 0 exactly where the statistic is
    rank_lengths       for the k-th smallest of n records, one record changed: max (0, L - k + 1, k - F)
    quantile_promise   what check_scores accepts is private for such a quantile: for all neighbouring groups and all
                       sets of reports
    open_minimum_promise, open_maximum_promise
                       the same for the minimum and the maximum where a record is added or removed: L + [nobody at t]
                       and n - F + [nobody at t]; of a group without records the value declared for it
    persons_lengths    ceil (length / r) moves by at most 1 where the length moves by at most r *)
From Coq Require Import ZArith Reals List Bool Lra Lia Arith.
From Inbounds Require Import Exp Privacy Matrix Kinds Scores Tight Depth ScoreCheck.
Import ListNotations.

(** * Any statistic *)
Section PathLengths.
  Variables (D V : Type) (near : D -> D -> Prop) (statistic : D -> V).

  Definition reached_in (k : nat) (d : D) (t : V) : Prop := exists d', chain near k d d' /\ statistic d' = t.
  Definition least_changes (d : D) (t : V) (k : nat) : Prop :=
    reached_in k d t /\ forall i, (i < k)%nat -> ~ reached_in i d t.

  Lemma one_more d e t k : near d e -> least_changes e t k -> forall i, least_changes d t i -> (i <= k + 1)%nat.
  Proof.
    intros H [(e' & C & E) _] i [_ L]. destruct (le_lt_dec i (k + 1)) as [|Hlt]; [assumption|]. exfalso.
    apply (L (S k) ltac:(lia)). exists e'. split; [|assumption]. econstructor; eassumption.
  Qed.

  (** Neighbours are neighbours either way round. *)
  Theorem lengths_lipschitz d e t i k : near d e -> near e d -> least_changes d t i -> least_changes e t k ->
    (i <= k + 1 /\ k <= i + 1)%nat.
  Proof. intros H H' Di Ek. split; [eapply (one_more d e)|eapply (one_more e d)]; eassumption. Qed.

  Theorem length_zero d t : least_changes d t 0 <-> statistic d = t.
  Proof.
    split.
    - intros [(d' & C & E) _]. now inversion C; subst.
    - intros <-. split; [exists d; split; [constructor|reflexivity]|]. intros i Hi. lia.
  Qed.
End PathLengths.

(** Where r records move a length by at most r, a person with r records moves its r-th part, rounded up, by at most 1. *)
Theorem persons_lengths r a b : (0 < r)%nat -> (a <= b + r)%nat -> ((a + (r - 1)) / r <= (b + (r - 1)) / r + 1)%nat.
Proof.
  intros Hr H. transitivity ((b + (r - 1) + 1 * r) / r)%nat; [apply Nat.div_le_mono; lia|].
  rewrite Nat.div_add by lia. lia.
Qed.

(** * The k-th smallest of the records 0 .. w *)
Definition upto (db : list nat) (t : nat) : nat := count (fun v => (v <=? t)%nat) db.   (* F *)
Definition below (db : list nat) (t : nat) : nat := count (fun v => (v <? t)%nat) db.   (* L *)

Definition rank_length (k : nat) (db : list nat) (t : nat) : nat := Nat.max (below db t + 1 - k) (k - upto db t).
Definition rank_lengths (w k : nat) (db : list nat) : list nat := map (rank_length k db) (seq 0 (w + 1)).

Lemma below_upto db t : below db (S t) = upto db t.
Proof.
  unfold below, upto. induction db as [|v db IH]; cbn [count]; [reflexivity|]. rewrite IH.
  destruct (Nat.ltb_spec v (S t)), (Nat.leb_spec v t); lia.
Qed.

Lemma below_le db t t' : (t < t')%nat -> (upto db t <= below db t')%nat.
Proof.
  intro H. unfold below, upto. induction db as [|v db IH]; cbn [count]; [lia|].
  destruct (Nat.leb_spec v t), (Nat.ltb_spec v t'); lia.
Qed.

Lemma below_zero db : below db 0 = 0%nat.
Proof. unfold below. induction db as [|v db IH]; cbn; [reflexivity|]. exact IH. Qed.

Lemma upto_all db w : (forall v, In v db -> v <= w)%nat -> upto db w = length db.
Proof.
  intro H. unfold upto. induction db as [|v db IH]; cbn [count length]; [reflexivity|].
  rewrite IH by (intros; apply H; now right). destruct (Nat.leb_spec v w); [lia|]. specialize (H v (or_introl eq_refl)). lia.
Qed.

(** The k-th smallest: k records are at most t, fewer than k are below. *)
Lemma rank_exists db k w : (1 <= k)%nat -> (k <= upto db w)%nat -> exists t, (t <= w)%nat /\ (below db t < k <= upto db t)%nat.
Proof.
  intros Hk. induction w as [|w IH]; intro H.
  - exists 0%nat. rewrite below_zero. lia.
  - destruct (le_lt_dec k (upto db w)) as [Hle|Hlt].
    + destruct (IH Hle) as (t & Ht & E). exists t. lia.
    + exists (S w). rewrite below_upto. lia.
Qed.

Lemma zeros_one (f : nat -> nat) t : (forall i, f i = 0%nat <-> i = t) ->
  forall n s, (s <= t < s + n)%nat -> zeros (map f (seq s n)) = 1%nat.
Proof.
  intros H. unfold zeros, zero.
  assert (N : forall n s, (t < s \/ s + n <= t)%nat -> length (filter (fun m => Nat.eqb m 0) (map f (seq s n))) = 0%nat).
  { induction n as [|n IH]; intros s Hs; cbn; [reflexivity|]. destruct (Nat.eqb_spec (f s) 0) as [E|E].
    - apply H in E. lia.
    - apply IH. lia. }
  induction n as [|n IH]; intros s Hs; [lia|]. cbn [seq map filter]. destruct (Nat.eqb_spec (f s) 0) as [E|E].
  - apply H in E. subst s. cbn [length]. rewrite N by lia. reflexivity.
  - assert (s <> t) by (intros ->; apply E; now apply H). apply IH. lia.
Qed.

Lemma rank_zeros db k w : (1 <= k <= length db)%nat -> (forall v, In v db -> v <= w)%nat ->
  zeros (rank_lengths w k db) = 1%nat.
Proof.
  intros Hk Hw. destruct (rank_exists db k w ltac:(lia) ltac:(rewrite upto_all; [lia|assumption])) as (t & Ht & E).
  unfold rank_lengths. apply (zeros_one _ t); [|lia]. intro i. unfold rank_length. split.
  - intro Z. destruct (lt_eq_lt_dec i t) as [[Hlt| ->]|Hgt]; [|reflexivity|].
    + pose proof (below_le db i t Hlt). lia.
    + pose proof (below_le db t i Hgt). lia.
  - intros ->. lia.
Qed.

Lemma rank_near db db' k t : replaced db db' -> lengths_near (rank_length k db t, rank_length k db' t).
Proof.
  intro H. destruct (count_replaced (fun v => (v <=? t)%nat) db db' H). destruct (count_replaced (fun v => (v <? t)%nat) db db' H).
  unfold lengths_near, rank_length, upto, below. cbn [fst snd]. lia.
Qed.

(** Where two outputs have one zero between them, some length is not 0, and there is a depth. *)
Lemma depth_exists l : (2 <= length l)%nat -> zeros l = 1%nat -> exists d, has_depth l d.
Proof.
  intros L Z.
  assert (N : exists n, In n l /\ n <> 0%nat).
  { destruct l as [|a [|b l]]; cbn in L; try lia. unfold zeros, zero in Z. cbn [filter] in Z.
    destruct (Nat.eqb_spec a 0); [|exists a; split; [now left|assumption]].
    destruct (Nat.eqb_spec b 0); [cbn in Z; lia|]. exists b. split; [right; now left|assumption]. }
  clear L Z. assert (G : forall q, (exists n, In n q /\ n <> 0%nat) -> exists d, has_depth q d).
  { induction q as [|a q IH]; intros (n & Hn & Hz); [easy|].
    destruct (in_dec Nat.eq_dec n q) as [Hq|Hq].
    - destruct (IH (ex_intro _ n (conj Hq Hz))) as (d & D1 & D2).
      destruct (le_lt_dec (S d) a) as [Ha|Ha].
      + exists d. split; [now right|]. intros k [<-|Hk] Hk0; auto.
      + destruct a as [|a].
        * exists d. split; [now right|]. intros k [<-|Hk] Hk0; [easy|auto].
        * exists a. split; [now left|]. intros k [<-|Hk] Hk0; [lia|]. specialize (D2 k Hk Hk0). lia.
    - destruct Hn as [->|Hn]; [|contradiction]. destruct n as [|a]; [easy|].
      destruct (Forall_Exists_dec (fun k => k = 0%nat) (fun k => Nat.eq_dec k 0) q) as [All|Ex].
      + exists a. split; [now left|]. rewrite Forall_forall in All. intros k [<-|Hk] Hk0; [lia|]. now apply All in Hk.
      + apply Exists_exists in Ex as (k & Hk & Hk0). destruct (IH (ex_intro _ k (conj Hk Hk0))) as (d & D1 & D2).
        destruct (le_lt_dec (S d) (S a)) as [Ha|Ha].
        * exists d. split; [now right|]. intros j [<-|Hj] Hj0; auto.
        * exists a. split; [now left|]. intros j [<-|Hj] Hj0; [lia|]. specialize (D2 j Hj Hj0). lia. }
  now apply G.
Qed.

Open Scope R_scope.

(** Minimum, maximum, median or any other rank of n records, n public: one record changed. d, d': the depths. *)
Theorem quantile_promise table stride deeper w en ed k : check_scores table stride deeper (Z.of_nat w) en ed = true ->
  forall db db', replaced db db' -> (1 <= k <= length db)%nat ->
  (forall v, In v db -> v <= w)%nat -> (forall v, In v db' -> v <= w)%nat ->
  forall d d', has_depth (rank_lengths w k db) d -> has_depth (rank_lengths w k db') d' ->
  forall S, Pr (score_law table stride deeper (Z.of_nat w)) (rank_lengths w k db, d) S
            <= exp (eps en ed) * Pr (score_law table stride deeper (Z.of_nat w)) (rank_lengths w k db', d') S.
Proof.
  intros H db db' Hd Hk Hw Hw' d d' D D'. apply (scores_private table stride deeper (Z.of_nat w) en ed H).
  split; [|split; assumption]. cbn [fst]. repeat split.
  - unfold rank_lengths. rewrite map_length, seq_length. lia.
  - unfold rank_lengths. generalize (seq 0 (w + 1)). intro l. induction l as [|t l IH]; cbn; constructor; [|assumption].
    now apply rank_near.
  - now apply rank_zeros.
  - apply rank_zeros; [|assumption]. now rewrite <- (replaced_length _ _ Hd).
Qed.

(** * Minimum and maximum of groups of any size: one record added or removed *)
Open Scope nat_scope.

Definition here (db : list nat) (t : nat) : nat := count (fun v => v =? t) db.
Definition nobody (db : list nat) (t : nat) : nat := if here db t =? 0 then 1 else 0.

(** [missing] is the answer of a group without records: it is reached by removing all of them, too. *)
Definition unless_missing (missing : nat) (db : list nat) (t len : nat) : nat := if t =? missing then Nat.min len (length db) else len.

Definition minimum_length (missing : nat) (db : list nat) (t : nat) : nat := unless_missing missing db t (below db t + nobody db t).
Definition maximum_length (missing : nat) (db : list nat) (t : nat) : nat :=
  unless_missing missing db t (length db - upto db t + nobody db t).

Lemma extended_length {P} (db db' : list P) : extended db db' -> length db' = length db + 1.
Proof. induction 1; cbn; lia. Qed.

(** One record more, at v: what it does to the three counts at t. *)
Lemma extended_counts db db' t : extended db db' -> exists v,
  below db' t = below db t + (if v <? t then 1 else 0) /\ upto db' t = upto db t + (if v <=? t then 1 else 0) /\
  here db' t = here db t + (if v =? t then 1 else 0).
Proof.
  unfold below, upto, here. induction 1 as [v l|u l l' H (v & A & B & C)].
  - exists v. cbn [count]. lia.
  - exists v. cbn [count]. lia.
Qed.

Lemma counts_split db t : upto db t = below db t + here db t /\ upto db t <= length db.
Proof.
  unfold upto, below, here. induction db as [|v db IH]; cbn [count length]; [lia|].
  destruct (Nat.leb_spec v t), (Nat.ltb_spec v t), (Nat.eqb_spec v t); lia.
Qed.

Lemma open_near (len : nat -> list nat -> nat -> nat) missing :
  (forall db db' t, extended db db' -> lengths_near (len missing db t, len missing db' t)) ->
  forall db db' t, added db db' -> lengths_near (len missing db t, len missing db' t).
Proof.
  intros H db db' t [E|E]; specialize (H _ _ t E); unfold lengths_near in *; cbn [fst snd] in *; lia.
Qed.

Lemma minimum_near missing db db' t : added db db' -> lengths_near (minimum_length missing db t, minimum_length missing db' t).
Proof.
  apply (open_near minimum_length). clear. intros db db' t E. destruct (extended_counts db db' t E) as (v & A & B & C).
  pose proof (extended_length _ _ E) as L. pose proof (counts_split db t) as [S1 S2].
  unfold lengths_near, minimum_length, unless_missing, nobody. cbn [fst snd]. rewrite A, C, L.
  destruct (Nat.ltb_spec v t), (Nat.eqb_spec v t), (t =? missing);
    destruct (Nat.eqb_spec (here db t) 0); destruct (Nat.eqb_spec (here db t + 0) 0); destruct (Nat.eqb_spec (here db t + 1) 0); lia.
Qed.

Lemma maximum_near missing db db' t : added db db' -> lengths_near (maximum_length missing db t, maximum_length missing db' t).
Proof.
  apply (open_near maximum_length). clear. intros db db' t E. destruct (extended_counts db db' t E) as (v & A & B & C).
  pose proof (extended_length _ _ E) as L. pose proof (counts_split db t) as [S1 S2].
  unfold lengths_near, maximum_length, unless_missing, nobody. cbn [fst snd]. rewrite B, C, L.
  destruct (Nat.leb_spec v t), (Nat.eqb_spec v t), (t =? missing);
    destruct (Nat.eqb_spec (here db t) 0); destruct (Nat.eqb_spec (here db t + 0) 0); destruct (Nat.eqb_spec (here db t + 1) 0); lia.
Qed.

Definition open_lengths (len : nat -> list nat -> nat -> nat) (w missing : nat) (db : list nat) : list nat :=
  map (len missing db) (seq 0 (w + 1)).

(** The least value that is there, or the largest. *)
Lemma least_there db w : db <> [] -> (forall v, In v db -> v <= w) -> exists t, t <= w /\ below db t = 0 /\ 0 < here db t.
Proof.
  intros Hne Hw. assert (L : 1 <= length db) by (destruct db; cbn; [easy|lia]).
  destruct (rank_exists db 1 w ltac:(lia) ltac:(rewrite upto_all; assumption)) as (t & Ht & A & B).
  exists t. destruct (counts_split db t). lia.
Qed.

Lemma largest_there db w : db <> [] -> (forall v, In v db -> v <= w) -> exists t, t <= w /\ upto db t = length db /\ 0 < here db t.
Proof.
  intros Hne Hw. assert (L : 1 <= length db) by (destruct db; cbn; [easy|lia]).
  destruct (rank_exists db (length db) w ltac:(lia) ltac:(rewrite upto_all; [lia|assumption])) as (t & Ht & A & B).
  exists t. destruct (counts_split db t). lia.
Qed.

Lemma empty_zeros (len : nat -> list nat -> nat -> nat) w missing : missing <= w ->
  (forall t, len missing [] t = if t =? missing then 0 else 1) -> zeros (open_lengths len w missing []) = 1.
Proof.
  intros Hm H. apply (zeros_one _ missing); [|lia]. intro i. rewrite H. destruct (Nat.eqb_spec i missing); split; intro; lia || congruence.
Qed.

Lemma minimum_zeros w missing db : missing <= w -> (forall v, In v db -> v <= w) -> zeros (open_lengths minimum_length w missing db) = 1.
Proof.
  intros Hm Hw. destruct db as [|v0 db0] eqn:E.
  - apply empty_zeros; [assumption|]. intro t. unfold minimum_length, unless_missing, nobody. cbn. destruct (t =? missing); reflexivity.
  - rewrite <- E in *. assert (Hne : db <> []) by (rewrite E; discriminate).
    assert (L : 1 <= length db) by (rewrite E; cbn; lia).
    destruct (least_there db w Hne Hw) as (t & Ht & B0 & H0). apply (zeros_one _ t); [|lia].
    intro i. unfold minimum_length, unless_missing, nobody. split.
    + intro Z. destruct (lt_eq_lt_dec i t) as [[Hlt| ->]|Hgt]; [|reflexivity|].
      * pose proof (below_le db i t Hlt). destruct (counts_split db i).
        destruct (Nat.eqb_spec (here db i) 0); destruct (i =? missing); lia.
      * pose proof (below_le db t i Hgt). destruct (counts_split db t).
        destruct (Nat.eqb_spec (here db i) 0); destruct (i =? missing); lia.
    + intros ->. destruct (Nat.eqb_spec (here db t) 0); [lia|]. destruct (t =? missing); lia.
Qed.

Lemma maximum_zeros w missing db : missing <= w -> (forall v, In v db -> v <= w) -> zeros (open_lengths maximum_length w missing db) = 1.
Proof.
  intros Hm Hw. destruct db as [|v0 db0] eqn:E.
  - apply empty_zeros; [assumption|]. intro t. unfold maximum_length, unless_missing, nobody. cbn. destruct (t =? missing); reflexivity.
  - rewrite <- E in *. assert (Hne : db <> []) by (rewrite E; discriminate).
    assert (L : 1 <= length db) by (rewrite E; cbn; lia).
    destruct (largest_there db w Hne Hw) as (t & Ht & B0 & H0). apply (zeros_one _ t); [|lia].
    intro i. unfold maximum_length, unless_missing, nobody. split.
    + intro Z. destruct (lt_eq_lt_dec i t) as [[Hlt| ->]|Hgt]; [|reflexivity|].
      * pose proof (below_le db i t Hlt). destruct (counts_split db t). destruct (counts_split db i).
        destruct (Nat.eqb_spec (here db i) 0); destruct (i =? missing); lia.
      * pose proof (below_le db t i Hgt). destruct (counts_split db i).
        destruct (Nat.eqb_spec (here db i) 0); destruct (i =? missing); lia.
    + intros ->. destruct (Nat.eqb_spec (here db t) 0); [lia|]. destruct (t =? missing); lia.
Qed.

Open Scope R_scope.

Section Open.
  Variables (table : list Z) (stride : nat) (deeper : list nat) (w missing : nat) (en ed : Z).
  Hypothesis accepted : check_scores table stride deeper (Z.of_nat w) en ed = true.
  Hypothesis missing_there : (missing <= w)%nat.

  Let promised (lengths : list nat -> list nat) : Prop :=
    forall db db', added db db' -> (forall v, In v db -> v <= w)%nat -> (forall v, In v db' -> v <= w)%nat ->
    forall d d', has_depth (lengths db) d -> has_depth (lengths db') d' ->
    forall S, Pr (score_law table stride deeper (Z.of_nat w)) (lengths db, d) S
              <= exp (eps en ed) * Pr (score_law table stride deeper (Z.of_nat w)) (lengths db', d') S.

  Lemma open_promise len : (forall db db' t, added db db' -> lengths_near (len missing db t, len missing db' t)) ->
    (forall db, (forall v, In v db -> v <= w)%nat -> zeros (open_lengths len w missing db) = 1%nat) ->
    promised (open_lengths len w missing).
  Proof.
    intros Near One db db' Hd Hw Hw' d d' D D'. apply (scores_private table stride deeper (Z.of_nat w) en ed accepted).
    split; [|split; assumption]. cbn [fst]. split; [|split; [|split]].
    - unfold open_lengths. rewrite map_length, seq_length. lia.
    - unfold open_lengths. generalize (seq 0 (w + 1)). intro l. induction l as [|t l IH]; cbn; constructor; [|assumption]. now apply Near.
    - now apply One.
    - now apply One.
  Qed.

  Theorem open_minimum_promise : promised (open_lengths minimum_length w missing).
  Proof. apply open_promise; intros; [now apply minimum_near|now apply minimum_zeros]. Qed.

  Theorem open_maximum_promise : promised (open_lengths maximum_length w missing).
  Proof. apply open_promise; intros; [now apply maximum_near|now apply maximum_zeros]. Qed.
End Open.
