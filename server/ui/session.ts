import { useContext } from 'preact/hooks'
import { createClient, type Client, type OwnSourceSystem } from '../client/index.ts'
import { createStore } from './components/store.ts'
import { insteadOf } from './failure.ts'
import { SessionContext, type Credentials, type Session } from './session-context.ts'
import * as texts from './texts/index.ts'

export type { Credentials, Session }

/** The service that served this page. Relative, so that a path prefix of a reverse proxy is kept. */
export const API_URL = new URL('../api/v1', document.baseURI).href

/** A client without a key, for the public endpoints. */
export const publicClient: Client = createClient({ baseUrl: API_URL })

/** Whether the session's key includes a level. */
export const hasLevel = ({ system }: Session, level: OwnSourceSystem['permissions']): boolean =>
  LEVELS.indexOf(system.permissions) >= LEVELS.indexOf(level)

/** Each level includes those before it. */
export const LEVELS = ['R', 'I', 'U', 'A'] as const

/** The operator key is the only key that is not a source system. */
export const isOperator = ({ system }: Session): boolean => system.id === undefined

/** The client whose key worked and does not work any more. */
export const endedClient = createStore<Client | undefined>(undefined)

/**
 * Signs in: reads the key's own source system, which every valid key may do. The operator key also opens a company
 * that does not exist yet, because only it can create the company.
 *
 * @throws the error of the service if the key or the company is wrong.
 */
export async function signIn({ companyId, apiKey }: Credentials): Promise<Session> {
  let hasWorked = false
  const observe = async (url: string, init: RequestInit): Promise<Response> => {
    const response = await fetch(url, init)
    if (hasWorked && response.status === 401) endedClient.set(client)
    return response
  }
  const client: Client = createClient({ baseUrl: API_URL, companyId, apiKey, fetch: observe })
  // Only the operator key sees that a company is unknown.
  const operator: OwnSourceSystem = { name: texts.systems.operator, permissions: 'A' }
  const system = await client.getOwnSourceSystem().catch(insteadOf('COMPANY_NOT_FOUND', operator))
  hasWorked = true
  return { companyId, apiKey, client, system }
}

const STORAGE_KEY = 'evidence-registry.session'

/** Keeps the key until the tab is closed. Called only if the user chose so. */
export const remember = ({ companyId, apiKey }: Credentials): void =>
  sessionStorage.setItem(STORAGE_KEY, `${companyId}\n${apiKey}`)

/** Removes the remembered key from the tab. */
export const forget = (): void => sessionStorage.removeItem(STORAGE_KEY)

/** The remembered credentials; `undefined` if there are none. Neither contains a line break. */
export function remembered(): Credentials | undefined {
  const [companyId, apiKey] = sessionStorage.getItem(STORAGE_KEY)?.split('\n') ?? []
  return companyId && apiKey ? { companyId, apiKey } : undefined
}

/** The session of the user. A page that needs one is shown only after the sign-in. */
export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error('This page needs a session')
  return session
}
