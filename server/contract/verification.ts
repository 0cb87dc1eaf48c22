import Type, { type TSchema } from '#typebox'
import { EvidenceProof, FileProof, MerkleProof, MerkleRoot } from '../../core/schemas/index.ts'
import { closed, opt } from './values.ts'

// The core's proof documents are the responses, unchanged.

/** Which evidence a public proof is about, if several companies use its external id. */
export const CompanyQuery = closed({
  companyId: opt(
    Type.String({ description: 'Company of the evidence. Its external ids then take precedence over internal ids' }),
  ),
  txId: opt(Type.String({ description: 'txId of the creation: selects one of several evidences' })),
})

/** What the proof endpoints return. */
export type Proof = EvidenceProof | FileProof | MerkleProof | MerkleRoot

/** The HTTP status of each verification status that is not a success. All others have 200. */
const HTTP_STATUS: { readonly [K in Proof['status']]?: number } = { not_found: 404, ambiguous: 409, invalid: 400 }

/** The status of a proof document: also one that proves nothing is a document, not an error. */
export const httpStatusOf = ({ status }: Pick<Proof, 'status'>): number => HTTP_STATUS[status] ?? 200

/** The parts of a proof document's schema that the variants are made of. */
interface Union extends TSchema {
  readonly anyOf: readonly (TSchema & { readonly properties: { readonly status: StatusSchema } })[]
}
interface StatusSchema {
  readonly const?: Proof['status']
  readonly enum?: readonly Proof['status'][]
}

const statusesOf = ({ const: only, enum: several = [] }: StatusSchema): readonly Proof['status'][] =>
  only === undefined ? several : [only]

/** The variants of a document that are sent with an HTTP status. */
function variantsOf({ anyOf }: Union, httpStatus: number): TSchema {
  const variants = anyOf.flatMap((variant) =>
    statusesOf(variant.properties.status)
      .filter((status) => httpStatusOf({ status }) === httpStatus)
      .map((status) => ({ ...variant, properties: { ...variant.properties, status: Type.Literal(status) } })),
  )
  const [first = Type.Never(), ...others] = variants
  return others.length === 0 ? first : Type.Union(variants)
}

const SUFFIXES = [
  [200, ''],
  [404, 'NotFound'],
  [409, 'Ambiguous'],
] as const

/** The variants of each proof document, with the names that they have in the OpenAPI document. */
export const proofVariants = Object.entries({ EvidenceProof, FileProof, MerkleProof, MerkleRoot }).flatMap(
  ([name, document]) =>
    SUFFIXES.map(([httpStatus, suffix]) => ({
      name: `${name}${suffix}`,
      document,
      httpStatus,
      schema: variantsOf(document, httpStatus),
    })),
)

/** What of a proof document is sent with an HTTP status. Any other schema is returned as it is. */
export const variantsWithStatus = (schema: TSchema, httpStatus: number): TSchema =>
  proofVariants.find((each) => each.document === schema && each.httpStatus === httpStatus)?.schema ?? schema
