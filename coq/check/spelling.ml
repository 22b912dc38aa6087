(* From the JSON of a passport to the record that the extracted checker takes. What is spelled otherwise than
   mechanism/codec.py spells it is refused; nothing is computed here. *)

open Json

exception Refused of string

let refuse reason = raise (Refused reason)

let field fields name =
  match List.assoc_opt name fields with Some value -> value | None -> refuse ("the field " ^ name ^ " is missing")

(* A law of a kind that has no rule here. *)
exception No_verdict

(* A field that nobody reads might be taken for something that was checked. *)
let only what names fields =
  List.iter (fun (name, _) -> if not (List.mem name names) then refuse (what ^ " has a field that no rule knows: " ^ name)) fields

let fields_of what = function Object fields -> fields | _ -> refuse (what ^ " must be an object")
let text_of what = function String text -> text | _ -> refuse (what ^ " must be a text")

(* 0, or up to 19 digits that do not begin with 0. *)
let whole_number word =
  let n = String.length word in
  if n < 1 || n > 19 || (n > 1 && word.[0] = '0') || not (String.for_all is_digit word) then
    refuse "whole numbers must be decimal, separated by single spaces";
  Z.of_string word

(* Lines may have millions of numbers: no recursion over them takes stack. *)
let whole_numbers what value = List.rev (List.rev_map whole_number (String.split_on_char ' ' (text_of what value)))

let one_number what value =
  match whole_numbers what value with [ number ] -> number | _ -> refuse (what ^ " must be one number")

let most_digits = 1500

(* "3", "-3" or "1/2", in lowest terms: each number has one spelling *)
let fraction what value =
  let text = text_of what value in
  let unsigned = if text <> "" && text.[0] = '-' then String.sub text 1 (String.length text - 1) else text in
  let number part =
    let n = String.length part in
    if n < 1 || n > most_digits || not (String.for_all is_digit part) then
      refuse (what ^ " must be an exact number such as 3 or 1/2");
    Z.of_string part in
  let num, den =
    match String.split_on_char '/' unsigned with
    | [ num ] -> (number num, Z.one)
    | [ num; den ] -> (number num, number den)
    | _ -> refuse (what ^ " must be an exact number such as 3 or 1/2") in
  if Z.equal den Z.zero then refuse (what ^ " has the denominator 0");
  let sign = if unsigned == text then "" else "-" in
  let written = Z.to_string num ^ if Z.equal den Z.one then "" else "/" ^ Z.to_string den in
  if not (Z.equal (Z.gcd num den) Z.one) || sign ^ written <> text || text = "-0" then
    refuse (what ^ " must be in lowest terms");
  { Checker.num = (if unsigned == text then num else Z.neg num); den }

let scale what value =
  let fields = fields_of what value in
  only what [ "start"; "unit"; "size"; "ticks" ] fields;
  let places =
    match List.assoc_opt "size" fields with
    | Some (Int size) -> Checker.Even size
    | Some _ -> refuse "a scale's size must be a whole number"
    | None -> Checker.Listed (whole_numbers "ticks" (field fields "ticks")) in
  { Checker.first = fraction "start" (field fields "start"); grid_step = fraction "unit" (field fields "unit"); ticks = places }

let cells value =
  match value with
  | Null -> None
  | _ ->
      let fields = fields_of "outputs" value in
      only "outputs" [ "lowers"; "uppers"; "values" ] fields;
      let edge name = scale name (field fields name) in
      Some ((edge "lowers", edge "uppers"), edge "values")

(* How many there are; all must differ. *)
let distinct what names =
  let seen = Hashtbl.create 16 in
  List.iter (fun name -> if Hashtbl.mem seen name then refuse (what ^ " must be distinct"); Hashtbl.add seen name ()) names;
  Hashtbl.length seen

(* Lengths, and for each of them a line of edges: tail head tail head ... *)
let graph value =
  let fields = fields_of "a graph" value in
  only "a graph" [ "lengths"; "edges" ] fields;
  let rec pairs found = function
    | [] -> List.rev found
    | tail :: head :: rest -> pairs ((tail, head) :: found) rest
    | _ -> refuse "an edge must have two ends" in
  match (field fields "lengths", field fields "edges") with
  | List lengths, List lines when List.compare_lengths lengths lines = 0 ->
      let group length line =
        let { Checker.num; den } = fraction "a length" length in
        { Checker.gnum = num; gden = den; ends = pairs [] (whole_numbers "edges" line) } in
      let groups = List.map2 group lengths lines in
      let all = List.fold_left (fun all { Checker.ends; _ } -> List.rev_append ends all) [] groups in
      ignore (distinct "edges from one answer to another" all);
      groups
  | _ -> refuse "a graph must have lengths and, for each of them, a line of edges"

let neighbours value =
  match fields_of "neighbours" value with
  | [ ("reach", Int steps) ] -> Checker.ByReach steps
  | [ ("metric", unit) ] -> Checker.ByMetric (fraction "metric" unit)
  | [ ("everyone", Bool true) ] -> Checker.AllOfThem
  | [ ("graph", edges) ] -> Checker.ByEdges (graph edges)
  | _ -> refuse "neighbours must be a reach, a metric, everyone or a graph"

let labels value =
  match value with
  | Null -> None
  | List items -> Some (Z.of_int (distinct "labels" (List.map (text_of "a label") items)))
  | _ -> refuse "labels must be texts"

let farthest_coordinate = Z.shift_left Z.one 52

(* A number below 2^52 in size as the nearest float, ties to even, in multiples of the least float 2^-1074. *)
let nearest_float { Checker.num; den } =
  let size = Z.abs num in
  let rounded exponent =
    let a = Z.shift_left size (max (-exponent) 0) and b = Z.shift_left den (max exponent 0) in
    let quotient, rest = Z.div_rem a b in
    let beyond = Z.compare (Z.shift_left rest 1) b in
    (quotient, if beyond > 0 || (beyond = 0 && Z.is_odd quotient) then Z.succ quotient else quotient) in
  let exponent = max (-1074) (Z.numbits size - Z.numbits den - 53) in
  let exponent = if Z.numbits (fst (rounded exponent)) > 53 then exponent + 1 else exponent in
  let found = Z.shift_left (snd (rounded exponent)) (exponent + 1074) in
  if Z.sign num < 0 then Z.neg found else found

(* Coordinates of answers on a graph: as many for each, and still different as floats, which name them in Python. *)
let places value =
  match value with
  | Null -> None
  | List items ->
      let coordinate text =
        let number = fraction "a coordinate" (String text) in
        if Z.geq (Z.abs number.Checker.num) (Z.mul farthest_coordinate number.Checker.den) then
          refuse "coordinates must be below 2^52 in size";
        Z.to_string (nearest_float number) in
      let place item = List.map coordinate (String.split_on_char ' ' (text_of "a place" item)) in
      let found = List.map place items in
      (match found with
      | first :: rest when List.exists (fun other -> List.compare_lengths first other <> 0) rest ->
          refuse "places must all have the same number of coordinates"
      | _ -> ());
      Some (Z.of_int (distinct "places" (List.map (String.concat " ") found)))
  | _ -> refuse "places must be texts"

let kind value =
  let text = text_of "kind" value in
  if not (String.for_all (fun c -> c >= ' ' && c <= '~') text) then refuse "the kind must be printable ASCII";
  match text with
  | "count" -> Checker.Count
  | "total" -> Checker.Total
  | "mean" -> Checker.Mean
  | "extreme" -> Checker.Extreme
  | "ordinal" -> Checker.Ordinal
  | "category" -> Checker.Category
  | "interval" -> Checker.Interval
  | "graph" -> Checker.AnyGraph
  | _ -> Checker.OtherKind

let rows value =
  match value with
  | List items -> List.map (whole_numbers "a row") items
  | _ -> refuse "a matrix must be a list of rows"

(* A family of sets of labels. *)
let label_sets value =
  match fields_of "blocks" value with
  | [ (name, value) ] ->
      let fields = fields_of name value in
      let one part = one_number part (field fields part) in
      let family, parts =
        match name with
        | "subsets" -> (Checker.Subsets (one "size"), [ "size" ])
        | "affine" -> (Checker.Affine (one "modulus", one "size"), [ "modulus"; "size" ])
        | "planes" -> (Checker.Planes (one "order", one "dimension"), [ "order"; "dimension" ])
        | _ -> refuse "sets of labels must be subsets, affine or planes" in
      only name ("inside" :: parts) fields;
      Checker.LabelSets (family, one "inside")
  | _ -> refuse "sets of labels must be of one family"

(* The laws that have a rule here. *)
let laws = [ "matrix"; "approximate"; "approximate_noise"; "threshold"; "noise"; "response"; "plane"; "blocks"; "scores"; "sides"; "central"; "joint"; "joint_sizes"; "counts" ]

let law_fields value =
  match fields_of "law" value with
  | [ (name, _) ] when not (List.mem name laws) -> raise No_verdict
  | fields -> fields

let law value =
  match law_fields value with
  | [ ("matrix", value) ] -> Checker.Weights (rows value)
  | [ ("noise", value) ] ->
      let fields = fields_of "noise" value in
      only "noise" [ "core"; "floor"; "end"; "size"; "remap" ] fields;
      let one name = one_number name (field fields name) in
      let remap = match field fields "remap" with Null -> None | value -> Some (whole_numbers "remap" value) in
      Checker.Noise (whole_numbers "core" (field fields "core"), one "floor", one "end", one "size", remap)
  | [ ("response", value) ] ->
      let fields = fields_of "response" value in
      only "response" [ "size"; "other" ] fields;
      Checker.TwoWeights (one_number "size" (field fields "size"), one_number "other" (field fields "other"))
  | [ ("blocks", value) ] -> label_sets value
  | _ -> refuse "the law of one answer must be a matrix, a noise table, a response, sets of labels or noise on a map"

let plane value =
  let fields = fields_of "plane" value in
  only "plane" [ "table"; "anywhere"; "remap" ] fields;
  let step_weights = rows (field fields "table") in
  let renamed = match field fields "remap" with Null -> None | value -> Some (whole_numbers "remap" value) in
  { Checker.step_weights; anywhere = one_number "anywhere" (field fields "anywhere"); renamed }

(* Where it comes from and what is claimed of it is not judged here; each is an object without other fields, or null. *)
let words fields =
  let part name names =
    match List.assoc_opt name fields with
    | Some (Object found) -> only name names found
    | Some Null | None -> ()
    | Some _ -> refuse (name ^ " must be an object") in
  part "origin" [ "name"; "parameters"; "reference" ];
  part "claims" [ "losses"; "properties"; "effective_epsilon" ];
  part "optimality" [ "objective"; "value"; "bound"; "loss"; "prior" ]

(* The passport of a query, with these numbers of its law. *)
let passport_with ?(claims = true) numbers fields =
  (* a law over sets of labels has no claims *)
  let others = match numbers with Checker.LabelSets _ -> [] | _ when not claims -> [] | _ -> [ "claims"; "optimality" ] in
  only "the passport" ([ "query"; "epsilon"; "law"; "origin" ] @ others) fields;
  words fields;
  let query = fields_of "query" (field fields "query") in
  let near = neighbours (field query "neighbours") in
  only "the query" [ "kind"; "answers"; "outputs"; "neighbours"; "rounds"; "labels"; "allowance"; "places" ] query;
  let located = match List.assoc_opt "places" query with None -> None | Some value -> places value in
  let named = labels (field query "labels") in
  (match (located, named, near) with
  | None, _, _ | Some _, None, Checker.ByEdges _ -> ()
  | Some _, Some _, _ -> refuse "answers must have labels or places, not both"
  | _ -> refuse "places need a graph");
  let rounds = match field query "rounds" with Bool b -> b | _ -> refuse "rounds must be true or false" in
  let zero = { Checker.num = Z.zero; den = Z.one } in
  let allowance =
    match List.assoc_opt "allowance" query with Some value -> fraction "allowance" value | None -> zero in
  { Checker.asked = kind (field query "kind");
    answers = scale "answers" (field query "answers");
    cells = cells (field query "outputs");
    near;
    rounds;
    labels = (if located = None then named else located);
    allowance;
    epsilon = fraction "epsilon" (field fields "epsilon");
    numbers }

let passport fields = passport_with (law (field fields "law")) fields

(* Noise on a map: the query and the epsilon are read as those of any passport, without weights of their own. *)
let map_noise fields =
  match field fields "law" with
  | Object [ ("plane", value) ] -> Some (passport_with (Checker.Weights []) fields, plane value)
  | _ -> None

(* A matrix with a delta, which claims nothing else. *)
let approximate fields =
  match field fields "law" with
  | Object [ ("approximate", value) ] ->
      let law = fields_of "approximate" value in
      only "approximate" [ "delta"; "matrix" ] law;
      let numbers = Checker.Weights (rows (field law "matrix")) in
      Some (passport_with ~claims:false numbers fields, fraction "delta" (field law "delta"))
  | _ -> None

(* Noise with a delta. *)
let approximate_noise fields =
  match field fields "law" with
  | Object [ ("approximate_noise", value) ] ->
      let law = fields_of "approximate_noise" value in
      only "approximate_noise" [ "delta"; "table" ] law;
      let query = passport_with ~claims:false (Checker.Weights []) fields in
      Some (query, whole_numbers "table" (field law "table"), fraction "delta" (field law "delta"))
  | _ -> None

(* A count above a threshold; without a narrower noise its line is empty. *)
let threshold fields =
  match field fields "law" with
  | Object [ ("threshold", value) ] ->
      let law = fields_of "threshold" value in
      only "threshold" [ "delta"; "wide"; "narrow" ] law;
      let query = passport_with ~claims:false (Checker.Weights []) fields in
      let narrow = match field law "narrow" with String "" -> [] | value -> whole_numbers "narrow" value in
      Some (query, whole_numbers "wide" (field law "wide"), narrow, fraction "delta" (field law "delta"))
  | _ -> None

let quantile_law value =
  match law_fields value with
  | [ ("scores", value) ] ->
      let fields = fields_of "scores" value in
      only "scores" [ "table"; "stride"; "deeper" ] fields;
      let deeper = field fields "deeper" in
      let table = whole_numbers "table" (field fields "table") in
      Checker.ScoreTable
        (table, one_number "stride" (field fields "stride"), if deeper = String "" then [] else whole_numbers "deeper" deeper)
  | [ ("sides", value) ] ->
      let fields = fields_of "sides" value in
      only "sides" [ "table"; "below"; "above"; "deeper" ] fields;
      let part name = whole_numbers name (field fields name) in
      Checker.SidedTable (part "table", part "below", part "above", one_number "deeper" (field fields "deeper"))
  | [ ("central", value) ] ->
      let fields = fields_of "central" value in
      only "central" [ "first"; "length"; "matrix" ] fields;
      let one name = one_number name (field fields name) in
      Checker.CentralTable (one "first", one "length", rows (field fields "matrix"))
  | _ -> refuse "the law of a quantile must be scores, sides, or central records"

let is_kind kind fields =
  match List.assoc_opt "query" fields with
  | Some (Object query) -> List.assoc_opt "kind" query = Some (String kind)
  | _ -> false

let is_quantile = is_kind "quantile"
let is_several = is_kind "quantiles"

(* The fields of a question about one or several quantiles. *)
let quantile_fields fields =
  let part = fields_of "query" (field fields "query") in
  only "the passport" [ "query"; "epsilon"; "law"; "origin" ] fields;
  only "the query" [ "kind"; "values"; "at"; "size"; "public"; "missing"; "records" ] part;
  words fields;
  only "the values" [ "start"; "unit"; "size" ] (fields_of "values" (field part "values"));
  part

let is_public part = match field part "public" with Bool b -> b | _ -> refuse "public must be true or false"

let quantile fields =
  let part = quantile_fields fields in
  let one name = one_number name (field part name) in
  let is_public = is_public part in
  { Checker.grid = scale "values" (field part "values");
    share_at = fraction "at" (field part "at");
    records = one "size";
    is_public;
    missing_at = one "missing";
    per_person = one "records";
    at_epsilon = fraction "epsilon" (field fields "epsilon");
    by_law = quantile_law (field fields "law") }

let several_law value =
  match law_fields value with
  | [ ("joint", value) ] ->
      let law = fields_of "joint" value in
      only "joint" [ "weight"; "spacing" ] law;
      Checker.Levels (one_number "weight" (field law "weight"), whole_numbers "spacing" (field law "spacing"))
  | [ ("joint_sizes", value) ] ->
      let law = fields_of "joint_sizes" value in
      only "joint_sizes" [ "weight"; "spacing"; "sizes"; "floor" ] law;
      let one name = one_number name (field law name) and many name = whole_numbers name (field law name) in
      Checker.LevelsOver (one "weight", many "spacing", many "sizes", one "floor")
  | [ ("counts", value) ] ->
      let law = fields_of "counts" value in
      only "counts" [ "table" ] law;
      Checker.NoiseOnCounts (whole_numbers "table" (field law "table"))
  | _ -> refuse "the law of several quantiles must be joint, joint over sizes, or noisy counts"

let several fields =
  let part = quantile_fields fields in
  let one name = one_number name (field part name) in
  let shares = String.split_on_char ' ' (text_of "at" (field part "at")) in
  { Checker.several_grid = scale "values" (field part "values");
    shares_at = List.map (fun share -> fraction "at" (String share)) shares;
    several_records = one "size";
    several_public = is_public part;
    several_missing = one "missing";
    several_per_person = one "records";
    several_epsilon = fraction "epsilon" (field fields "epsilon");
    several_by = several_law (field fields "law") }
