(** The ledger's inequality: whatever is asked as one goes, all answers it admits promise the budget together.

    Somebody asks questions one after another, each chosen by all answers before it. The ledger charges whole units
    (nano-epsilons, rounded up) before anything is drawn: it admits a charge when spent + charge <= budget, and
    refuses it otherwise; whoever asks sees which, and may go on.

    charge_within    what is spent never exceeds the budget
    rounded_up       the units of a charge pay for the epsilons of its parts
    ledger_promise   the transcript of all answers is private at the budget *)
From Coq Require Import ZArith Reals List Bool Lra Lia.
From Inbounds Require Import Exp Privacy Together.
Import ListNotations.

(** * Charges *)
Open Scope Z_scope.

(** [UPDATE people SET spent = spent + units WHERE budget - spent >= units] *)
Definition charge (budget spent units : Z) : option Z :=
  if units <=? budget - spent then Some (spent + units) else None.

Fixpoint spend (budget spent : Z) (charges : list Z) : Z :=
  match charges with
  | [] => spent
  | units :: rest => match charge budget spent units with
                     | Some more => spend budget more rest
                     | None => spend budget spent rest
                     end
  end.

Theorem charge_within budget charges : forall spent, spent <= budget -> spend budget spent charges <= budget.
Proof.
  induction charges as [|units rest IH]; intros spent H; cbn [spend]; [assumption|].
  unfold charge. destruct (Z.leb_spec units (budget - spent)); apply IH; lia.
Qed.

(** cost: the least whole number of units at or above sum / unit. [n/d] is the sum of the parts, one unit is 10^-9. *)
Definition NANO := 10 ^ 9.
Definition cost (n d : Z) : Z := - ((- (n * NANO)) / d).

Open Scope R_scope.

Definition nano (units : Z) : R := IZR units / IZR NANO.

Lemma NANO_pos : 0 < IZR NANO. Proof. apply IZR_pos. reflexivity. Qed.

Theorem rounded_up n d : (0 < d)%Z -> IZR n / IZR d <= nano (cost n d).
Proof.
  intros Hd. pose proof NANO_pos as HN. apply IZR_pos in Hd as Hd'. unfold nano, cost.
  apply Rmult_le_reg_r with (IZR NANO * IZR d); [nra|].
  replace (IZR n / IZR d * (IZR NANO * IZR d)) with (IZR (n * NANO)) by (rewrite mult_IZR; field; lra).
  replace (IZR (- (- (n * NANO) / d)) / IZR NANO * (IZR NANO * IZR d)) with (IZR (- (- (n * NANO) / d) * d))
    by (rewrite mult_IZR; field; lra).
  apply IZR_le. pose proof (Z.mul_div_le (- (n * NANO)) d Hd). lia.
Qed.

(** A budget is rounded down to units. *)
Theorem rounded_down n d : (0 < d)%Z -> nano (n * NANO / d) <= IZR n / IZR d.
Proof.
  intros Hd. pose proof NANO_pos as HN. apply IZR_pos in Hd as Hd'. unfold nano.
  apply Rmult_le_reg_r with (IZR NANO); [assumption|].
  replace (IZR (n * NANO / d) / IZR NANO * IZR NANO) with (IZR (n * NANO / d)) by (field; lra).
  replace (IZR n / IZR d * IZR NANO) with (IZR (n * NANO) / IZR d) by (rewrite mult_IZR; field; lra).
  now apply IZR_div_le.
Qed.

(** * Questions chosen as one goes *)
Section Analyst.
  Context {D O : Type}.

  (** A question at its price, and what is asked next, by its answer; [None]: it was refused. *)
  Inductive analyst :=
  | Leave
  | Ask (question : mechanism D O) (units : Z) (next : option O -> analyst).

  (** Every question is worth its price: private at its units, with masses that are not negative. *)
  Fixpoint honest (near : D -> D -> Prop) (who : analyst) : Prop :=
    match who with
    | Leave => True
    | Ask m units next =>
        (0 <= units)%Z /\ not_negative m /\ pointwise near (nano units) m /\ forall seen, honest near (next seen)
    end.

  (** The answers that are given, under a ledger that has [left] units. *)
  Fixpoint transcripts (left : Z) (who : analyst) : list (list O) :=
    match who with
    | Leave => [[]]
    | Ask m units next =>
        if (units <=? left)%Z
        then flat_map (fun o => map (cons o) (transcripts (left - units) (next (Some o)))) (outs m)
        else transcripts left (next None)
    end.

  Fixpoint transcript_mass (left : Z) (who : analyst) (db : D) (seen : list O) : R :=
    match who with
    | Leave => match seen with [] => 1 | _ => 0 end
    | Ask m units next =>
        if (units <=? left)%Z
        then match seen with
             | [] => 0
             | o :: rest => mass m db o * transcript_mass (left - units) (next (Some o)) db rest
             end
        else transcript_mass left (next None) db seen
    end.

  Definition conversation (budget : Z) (who : analyst) : mechanism D (list O) :=
    Mechanism (transcripts budget who) (transcript_mass budget who).

  Lemma transcript_mass_pos near who : honest near who -> forall left db seen, 0 <= transcript_mass left who db seen.
  Proof.
    induction who as [|m units next IH]; intros H left db seen; cbn [transcript_mass].
    - destruct seen; lra.
    - cbn [honest] in H. destruct H as (_ & Pm & _ & Hn). destruct (Z.leb units left); [|now apply IH].
      destruct seen as [|o rest]; [lra|]. apply Rmult_le_pos; [apply Pm|now apply IH].
  Qed.

  Lemma nano_minus a b : nano (a - b) = nano a - nano b.
  Proof. unfold nano. rewrite minus_IZR. unfold Rdiv. ring. Qed.

  Lemma nano_pos a : (0 <= a)%Z -> 0 <= nano a.
  Proof. intro H. apply Rmult_le_pos; [now apply IZR_le|]. left. apply Rinv_0_lt_compat, NANO_pos. Qed.

  Theorem ledger_pointwise near who : honest near who -> forall left, (0 <= left)%Z ->
    pointwise near (nano left) (conversation left who).
  Proof.
    induction who as [|m units next IH]; intros H left Hl a b Hab seen Hs; cbn [conversation outs mass] in *;
      cbn [transcripts transcript_mass] in *.
    - pose proof (exp_le 0 _ (nano_pos left Hl)) as E. rewrite exp_0 in E. destruct seen; lra.
    - cbn [honest] in H. destruct H as (Hu & Pm & Qm & Hn). destruct (Z.leb_spec units left) as [Hle|Hgt].
      + apply in_flat_map in Hs as (o & Ho & Hs). apply in_map_iff in Hs as (rest & <- & Hrest).
        replace (nano left) with (nano units + nano (left - units)) by (rewrite nano_minus; ring). rewrite exp_plus.
        set (next_mass := transcript_mass (left - units) (next (Some o))).
        replace (exp (nano units) * exp (nano (left - units)) * (mass m b o * next_mass b rest))
          with (exp (nano units) * mass m b o * (exp (nano (left - units)) * next_mass b rest)) by ring.
        apply Rmult_le_compat.
        * apply Pm.
        * unfold next_mass. eapply transcript_mass_pos, Hn.
        * now apply Qm.
        * apply (IH (Some o) (Hn (Some o)) (left - units)%Z ltac:(lia) a b Hab rest Hrest).
      + apply (IH None (Hn None) left Hl a b Hab seen Hs).
  Qed.

  (** For every set of transcripts. *)
  Theorem ledger_promise near who budget : honest near who -> (0 <= budget)%Z ->
    private near (nano budget) (conversation budget who).
  Proof. intros. apply pointwise_private. now apply ledger_pointwise. Qed.
End Analyst.
