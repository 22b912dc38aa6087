(* inbounds-check: what a passport proves, of a mechanism or of a quantile, by the checkers extracted from the proof.

   The reading (json, canonical, sha256, spelling) is written by hand; the verdict is that of Checker.check_passport or
   Checker.check_quantile. *)

let longest = 1 lsl 29

let content path =
  let channel = open_in_bin path in
  Fun.protect ~finally:(fun () -> close_in channel) (fun () ->
      let buffer = Buffer.create 65536 in
      let rec go () =
        if Buffer.length buffer > longest then Json.fail "it is longer than 2^29 bytes";
        match Buffer.add_channel buffer channel 65536 with
        | () -> go ()
        | exception End_of_file -> Buffer.contents buffer
      in
      go ())

let mechanism, quantile, labels = ("inbounds mechanism", "inbounds quantile mechanism", "inbounds label mechanism")

(* Two-weight laws, of randomized response (version 3) and of sets of labels, have no extracted checker; answers on a
   graph (version 4) and noise on a map (version 5) are not read. *)
exception No_verdict

(* The format, version and fields of a passport whose digest is right. *)
let opened value =
  match value with
  | Json.Object fields ->
      let format = match List.assoc_opt "format" fields with Some (Json.String text) -> text | _ -> "" in
      let unknown_version = match List.assoc_opt "version" fields with
        | Some (Json.Int v) -> format = mechanism && Z.leq (Z.of_int 3) v && Z.leq v (Z.of_int 5) | _ -> false in
      if format = labels || unknown_version then raise No_verdict;
      let newest = if format = mechanism then 2 else if format = quantile then 1 else Spelling.refuse "it is no passport" in
      let version =
        match List.assoc_opt "version" fields with
        | Some (Json.Int v) when Z.sign v > 0 && Z.leq v (Z.of_int newest) -> v
        | _ -> Spelling.refuse "its version is not known" in
      if List.assoc_opt "sha256" fields <> Some (Json.String (Canonical.digest fields)) then
        Spelling.refuse "the digest does not match: the file was changed after it was written";
      (format, version, fields)
  | _ -> Spelling.refuse "it is no passport"

let check path =
  let format, version, fields = opened (Json.of_string (content path)) in
  let passed =
    if format = quantile then Checker.check_quantile (Spelling.quantile fields)
    else Checker.check_passport (Spelling.passport version fields) in
  if not passed then Spelling.refuse "the weights are not private for this query and epsilon"

(* Whether the file is a passport that is private as it says. *)
let judged path =
  match check path with
  | () -> Printf.printf "private %s\n" path; true
  | exception (Json.Malformed reason | Spelling.Refused reason) -> Printf.printf "refused %s: %s\n" path reason; false
  | exception Stack_overflow -> raise (Sys_error (path ^ " has lists that are too long for this checker's stack"))

let usage =
  "inbounds-check FILE... : check passports; exits with 1 if one is refused, 2 if one cannot be read, 3 if one is of a \
   kind that it has no verdict on"

let () =
  (* the extracted functions recurse over their lists, and every minor collection looks at the whole stack *)
  Gc.set { (Gc.get ()) with minor_heap_size = 1 lsl 22 };
  match List.tl (Array.to_list Sys.argv) with
  | [ "--lines" ] -> Lines.run ()
  | [] | [ "--help" ] -> print_endline usage; exit (if Array.length Sys.argv = 1 then 2 else 0)
  | files -> (
      match List.fold_left (fun all file -> judged file && all) true files with
      | all -> exit (if all then 0 else 1)
      | exception Sys_error reason -> prerr_endline reason; exit 2
      | exception No_verdict -> prerr_endline "no verdict: its law is of a kind that this checker does not know"; exit 3)
