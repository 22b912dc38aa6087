(* inbounds-check: what a passport proves, of a mechanism or of quantiles, by the checkers extracted from the proof.

   The reading (json, canonical, sha256, spelling) is written by hand; the verdict is that of Checker.check_passport,
   Checker.check_delta, Checker.check_delta_noise, Checker.check_delta_threshold, Checker.check_map, Checker.check_quantile or
   Checker.check_several. *)

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

let mechanism = "inbounds/mechanism"

(* The content of a passport whose envelope has its four fields, the known version and the right digest. *)
let opened value =
  match value with
  | Json.Object fields ->
      if List.assoc_opt "format" fields <> Some (Json.String mechanism) then Spelling.refuse "it is no passport";
      (match List.assoc_opt "version" fields with
      | Some (Json.Int v) when Z.equal v Z.one -> ()
      | Some (Json.Int v) -> Spelling.refuse ("this file has version " ^ Z.to_string v ^ "; inbounds reads version 1")
      | _ -> Spelling.refuse "its version is not known");
      Spelling.only "the file" [ "format"; "version"; "content"; "sha256" ] fields;
      if List.assoc_opt "sha256" fields <> Some (Json.String (Canonical.digest fields)) then
        Spelling.refuse "the digest does not match: the file was changed after it was written";
      Spelling.fields_of "content" (Spelling.field fields "content")
  | _ -> Spelling.refuse "it is no passport"

let check path =
  let fields = opened (Json.of_string (content path)) in
  let passed =
    if Spelling.is_quantile fields then Checker.check_quantile (Spelling.quantile fields)
    else if Spelling.is_several fields then Checker.check_several (Spelling.several fields)
    else
      match Spelling.map_noise fields with
      | Some (query, noise) -> Checker.check_map query noise
      | None -> (
          match Spelling.approximate fields with
          | Some (query, delta) -> Checker.check_delta query delta
          | None -> (
              match Spelling.approximate_noise fields with
              | Some (query, table, delta) -> Checker.check_delta_noise query table delta
              | None -> (
                  match Spelling.threshold fields with
                  | Some (query, wide, narrow, delta) -> Checker.check_delta_threshold query wide narrow delta
                  | None -> Checker.check_passport (Spelling.passport fields)))) in
  if not passed then Spelling.refuse "the weights are not private for this query and epsilon"

(* What is said of a file, and the exit code that it asks for. *)
let judged path =
  match check path with
  | () -> Printf.printf "private %s\n" path; 0
  | exception (Json.Malformed reason | Spelling.Refused reason) -> Printf.printf "refused %s: %s\n" path reason; 1
  | exception Spelling.No_verdict -> Printf.printf "no verdict %s: no rule here knows a law of this kind\n" path; 3
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
      match List.fold_left (fun code file -> max (judged file) code) 0 files with
      | code -> exit code
      | exception Sys_error reason -> prerr_endline reason; exit 2)
