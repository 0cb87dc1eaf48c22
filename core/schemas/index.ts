/**
 * `evidence-registry/schemas`: JSON Schemas of what the registry takes and returns, for programs that describe or check
 * it as our server does. The types of the same names belong to `evidence-registry`.
 */
export * from './bundle.ts'
export * from './category-inputs.ts'
export * from './company-inputs.ts'
export * from './erasure-inputs.ts'
export * from './evidence-inputs.ts'
export * from './fields.ts'
export * from './file-inputs.ts'
export * from './proof-documents.ts'
export * from './proof-inputs.ts'
export * from './share-inputs.ts'
export { hasShape, readShape, validate } from './validation.ts'
export { MAX_CHECKPOINT_TOKENS } from '../commitment/bundle-format.ts'
