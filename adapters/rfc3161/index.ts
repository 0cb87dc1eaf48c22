export { createRfc3161Authority, readTrustAnchors, type Rfc3161Authority, type Rfc3161Options } from './authority.ts'
export type { ImprintHash } from './queries.ts'
export type { RevocationReach } from './revocation.ts'
export type { ProxySettings } from '../outside.ts'
