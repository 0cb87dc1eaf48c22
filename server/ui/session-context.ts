import { createContext } from 'preact'
import type { Client, OwnSourceSystem } from '../client/index.ts'

/** What a user signs in with. */
export interface Credentials {
  readonly companyId: string
  readonly apiKey: string
}

/** A key that works, with the client that uses it. */
export interface Session extends Credentials {
  readonly client: Client
  /** The key's own source system. The operator key has the level A and no id. */
  readonly system: OwnSourceSystem
}

/**
 * The session of the pages that need a key. Apart from `session.ts`, which makes clients: the page that a user saves
 * has no server.
 */
export const SessionContext = createContext<Session | undefined>(undefined)
