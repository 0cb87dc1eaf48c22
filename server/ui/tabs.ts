import { useEffect, useRef } from 'preact/hooks'
import { API_URL, remembered, type Credentials, type Session } from './session.ts'

/** What tabs say to each other: a new one asks under a random name, and those with a session return it. */
type Message = { readonly ask: string } | ({ readonly to: string } & Credentials) | { readonly isSignedOut: true }

/** Only the tabs of this service: another one may be below another path of the same host. */
const CHANNEL = `evidence-registry ${API_URL}`

interface TabActions {
  readonly take: (credentials: Credentials) => void
  readonly signOut: () => void
}

/**
 * Gives a new tab the session of an open one. A key goes from memory to memory, so it is gone with the last tab. A tab
 * asks only when it is opened. Returns a function that signs out all other tabs.
 */
export function useSessionOfTabs(session: Session | undefined, { take, signOut }: TabActions): () => void {
  const own = useRef(session)
  const sayOut = useRef(() => {})
  useEffect(() => void (own.current = session), [session])
  useEffect(() => {
    const channel = new BroadcastChannel(CHANNEL)
    const name = crypto.getRandomValues(new Uint32Array(4)).join('-')
    // eslint-disable-next-line unicorn/require-post-message-target-origin -- a channel has none
    const say = (message: Message): void => channel.postMessage(message)
    let isAsking = remembered() === undefined
    channel.addEventListener('message', ({ data }: MessageEvent<Message>) => {
      const { current } = own
      if ('isSignedOut' in data) signOut()
      else if ('ask' in data) {
        if (current) say({ to: data.ask, companyId: current.companyId, apiKey: current.apiKey })
      } else if (data.to === name && isAsking && current === undefined) {
        isAsking = false
        take(data)
      }
    })
    if (isAsking) say({ ask: name })
    sayOut.current = () => say({ isSignedOut: true })
    return () => channel.close()
  }, [])
  return () => sayOut.current()
}
