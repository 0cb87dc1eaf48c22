import { createContext } from 'preact'
import type { Session } from './session.ts'

/**
 * The session of the pages that need a key. Apart from `session.ts`, which makes clients: the page that a user saves
 * has no server.
 */
export const SessionContext = createContext<Session | undefined>(undefined)
