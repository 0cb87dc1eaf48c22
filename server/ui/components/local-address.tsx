import { reachOf } from '../public-url.ts'
import * as texts from '../texts/index.ts'
import { Notice } from './notice.tsx'

/** Says that an address opens nothing elsewhere, and what to do. Nothing for an address on the internet. */
export function LocalAddress({ url }: { readonly url: string }) {
  const t = texts.localAddress
  const reach = reachOf(url)
  return (
    reach && (
      <Notice tone="pending">
        <b>{t.works[reach]}</b> {t.why(new URL(url).hostname)}
      </Notice>
    )
  )
}
