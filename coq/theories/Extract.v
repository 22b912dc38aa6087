(** The checkers as OCaml, with Zarith's integers for whole numbers: the heart of `inbounds-check`. *)
From Coq Require Import ZArith ExtrOcamlBasic ExtrOcamlZBigInt ExtrOcamlNatBigInt.
From Inbounds Require Import Exp Matrix Noise Neighbours Response Designs Passport ScoreCheck Sides Central Joint Sizes Counts Quantile Graph Plane Approximate Threshold.

Extract Constant Z.of_nat => "(fun n -> n)".  (* both are Zarith's integers *)
Extract Constant Nat.max => "Big_int_Z.max_big_int".
Extract Constant Nat.min => "Big_int_Z.min_big_int".
Extract Constant Z.to_nat => "(fun z -> Big_int_Z.max_big_int Big_int_Z.zero_big_int z)".

Extraction "checker.ml" check_passport check_delta check_delta_noise check_delta_threshold check_map check_quantile check_several check_product check_noise check_states check_scores check_sides check_edges exp_below.
