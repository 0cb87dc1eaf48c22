import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import * as texts from '../texts/index.ts'

interface DropAreaProps {
  readonly onFiles: (files: readonly File[]) => void
  readonly class?: string
  readonly children: ComponentChildren
}

/** Accepts files by drag and drop. The keyboard reaches the file input that is in it. */
export function DropArea({ onFiles, class: added = '', children }: DropAreaProps) {
  const [isOver, setOver] = useState(false)
  const over = (event: DragEvent): void => {
    event.preventDefault()
    setOver(true)
  }
  const drop = (event: DragEvent): void => {
    event.preventDefault()
    setOver(false)
    onFiles([...(event.dataTransfer?.files ?? [])])
  }
  return (
    <div
      class={`dropzone ${added} ${isOver ? 'over' : ''}`}
      onDragOver={over}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      {children}
    </div>
  )
}

/** The files that are verified. */
export function DropZone({ onFiles }: Pick<DropAreaProps, 'onFiles'>) {
  const t = texts.verify
  return (
    <DropArea onFiles={onFiles} class="no-print">
      <p>{t.drop}</p>
      <label>
        {t.choose} <input type="file" multiple onChange={(event) => onFiles([...(event.currentTarget.files ?? [])])} />
      </label>
    </DropArea>
  )
}
