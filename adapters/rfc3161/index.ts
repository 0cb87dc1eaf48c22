export { createRfc3161Authority, Rfc3161Authority, type Rfc3161Options } from './authority.ts'
export type { RevocationReach } from './revocation.ts'
export { readTrustAnchors } from './trust-anchors.ts'
