import { useEffect, useRef } from 'preact/hooks'
import { API_URL, remembered, type Credentials, type Session } from './session.ts'

/** What tabs say to each other: a new one asks under a random name, and those with a session answer it. */
type Message = { readonly ask: string } | ({ readonly to: string } & Credentials)

/** Only the tabs of this service: another one may be below another path of the same host. */
const CHANNEL = `evidence-registry ${API_URL}`

/**
 * Gives a new tab the session of an open one. A key goes from memory to memory, so it is gone with the last tab. A tab
 * asks only when it is opened, so that one in which the user signed out stays signed out.
 */
export function useSessionOfTabs(session: Session | undefined, take: (credentials: Credentials) => void): void {
  const own = useRef(session)
  useEffect(() => void (own.current = session), [session])
  useEffect(() => {
    const channel = new BroadcastChannel(CHANNEL)
    const name = crypto.getRandomValues(new Uint32Array(4)).join('-')
    // eslint-disable-next-line unicorn/require-post-message-target-origin -- a channel has none
    const say = (message: Message): void => channel.postMessage(message)
    let isAsking = remembered() === undefined
    channel.addEventListener('message', ({ data }: MessageEvent<Message>) => {
      const { current } = own
      if ('ask' in data) {
        if (current) say({ to: data.ask, companyId: current.companyId, apiKey: current.apiKey })
      } else if (data.to === name && isAsking && current === undefined) {
        isAsking = false
        take(data)
      }
    })
    if (isAsking) say({ ask: name })
    return () => channel.close()
  }, [])
}
