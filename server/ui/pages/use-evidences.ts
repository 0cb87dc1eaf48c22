import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { Client, EvidenceFilter, EvidenceList, EvidenceListItem } from '../../client/index.ts'
import { historyEntry } from '../router.ts'

const PAGE_ITEMS = 100

/** The evidences of a search that are loaded so far. */
export interface EvidenceItems {
  readonly items: readonly EvidenceListItem[]
  readonly count: number
  readonly countIsMore: boolean
  readonly isComplete: boolean
  readonly error: unknown
}

const NOTHING: EvidenceItems = { items: [], count: 0, countIsMore: false, isComplete: false, error: undefined }

/** Filtered and sorted lists continue at `next`, other lists after their last item. */
type Position = { readonly next: string } | { readonly last: string } | undefined

function positionAfter({ next, isMore, dts }: EvidenceList): Position {
  if (next !== undefined) return { next }
  const last = dts.at(-1)?.id
  return isMore === true && last !== undefined ? { last } : undefined
}

/** A list as it was when the user left it. */
interface LeftList {
  /** The entry of the browser's history that showed it. */
  readonly entry: string
  readonly state: EvidenceItems
  readonly position: Position
  readonly scrollTopPx: number
}

/** The list that the user of each client left last. Back shows it again, at the row where it was left. */
const leftLists = new WeakMap<Client, LeftList>()

/** Call it after an evidence was changed: Back then reads the list again. */
export const forgetLeftList = (client: Client): void => void leftLists.delete(client)

/**
 * Reads a list page by page. `loadMore` requests the next page unless one is being requested. The filter and the client
 * must not change while the component is shown.
 */
export function useEvidences(client: Client, filter: EvidenceFilter) {
  const [entry] = useState(historyEntry)
  const [left] = useState(() => {
    const list = leftLists.get(client)
    return list?.entry === entry ? list : undefined
  })
  const [state, setState] = useState(left?.state ?? NOTHING)
  // What was shown last, for functions that run between two renderings.
  const shown = useRef(state)
  const show = (next: EvidenceItems): void => {
    shown.current = next
    setState(next)
  }
  const position = useRef(left?.position)
  const scrollTopPx = useRef(left?.scrollTopPx ?? 0)
  const running = useRef<AbortController>(undefined)

  const loadMore = useCallback((): void => {
    if (running.current !== undefined || shown.current.isComplete) return
    const abort = new AbortController()
    running.current = abort
    const read = async (): Promise<void> => {
      try {
        const page = await client.listEvidences({ len: PAGE_ITEMS, ...filter, ...position.current }, abort)
        if (abort.signal.aborted) return
        running.current = undefined
        position.current = positionAfter(page)
        show({
          items: [...shown.current.items, ...page.dts],
          count: page.count,
          countIsMore: page.countIsMore === true,
          isComplete: position.current === undefined,
          error: undefined,
        })
      } catch (error) {
        // `running` stays set, so that a failure is not repeated by scrolling. `retry` clears it.
        if (!abort.signal.aborted) show({ ...shown.current, error })
      }
    }
    void read()
  }, [])

  const retry = (): void => {
    running.current = undefined
    loadMore()
  }
  useEffect(() => {
    if (left === undefined) loadMore()
    return () => {
      running.current?.abort()
      leftLists.set(client, {
        entry,
        state: shown.current,
        position: position.current,
        scrollTopPx: scrollTopPx.current,
      })
    }
  }, [])
  return { ...state, scrollTopPx, loadMore, retry }
}
