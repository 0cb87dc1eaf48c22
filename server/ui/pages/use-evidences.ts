import { useEffect, useRef, useState } from 'preact/hooks'
import type { Client, EvidenceFilter, EvidenceList, EvidenceListItem } from '../../client/index.ts'
import { usePages, type Page, type Shown } from '../components/use-pages.ts'
import { historyEntry } from '../router.ts'

const PAGE_ITEMS = 100

type EvidencesPage = Page<EvidenceListItem> & Pick<EvidenceList, 'count' | 'countIsMore' | 'next'>

/** A list as it was when the user left it. */
interface LeftList {
  /** The entry of the browser's history that showed it. */
  readonly entry: string
  readonly shown: Shown<EvidenceListItem, EvidencesPage>
  readonly scrollTopPx: number
}

/** The list that the user of each client left last. Back shows it again, at the row where it was left. */
const leftLists = new WeakMap<Client, LeftList>()

/** Call it after an evidence was changed: Back then reads the list again. */
export const forgetLeftList = (client: Client): void => void leftLists.delete(client)

/** The evidences of a search. The filter and the client must not change while the component is shown. */
export function useEvidences(client: Client, filter: EvidenceFilter) {
  const [entry] = useState(historyEntry)
  const [left] = useState(() => {
    const list = leftLists.get(client)
    return list?.entry === entry ? list : undefined
  })
  const list = usePages<EvidenceListItem, EvidencesPage>(
    {
      pageItems: PAGE_ITEMS,
      async readPage({ last, before, len }, signal) {
        // Filtered and sorted lists continue at `next`, other lists after their last item.
        const position = before?.next === undefined ? last && { last: last.id } : { next: before.next }
        const { dts, isMore, ...page } = await client.listEvidences({ len, ...filter, ...position }, { signal })
        return { ...page, items: dts, isMore: (isMore === true && dts.length > 0) || page.next !== undefined }
      },
    },
    { of: [] },
    left?.shown,
  )
  const scrollTopPx = useRef(left?.scrollTopPx ?? 0)
  const latest = useRef(list)
  latest.current = list
  useEffect(() => {
    return () => {
      const { items, page } = latest.current
      const shown = { items, page, failure: undefined }
      leftLists.set(client, { entry, shown, scrollTopPx: scrollTopPx.current })
    }
  }, [])
  return { ...list, scrollTopPx }
}
